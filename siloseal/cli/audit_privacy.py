"""`siloseal audit privacy`: whether the code keeps what the ledger books, and how that looks."""

import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siloseal.cli.options import Json, Quiet
from siloseal.federation.errors import ConfigError
from siloseal.models.user_code.places import look_in

if TYPE_CHECKING:
    from siloseal.cli.console import Console
    from siloseal.federation.analytics.any_job import AnyJob
    from siloseal.federation.job.job import Job
    from siloseal.federation.privacy.guarantee import Guarantee
    from siloseal.privacy_audit.finding import Finding
    from siloseal.privacy_audit.holdings import Holdings
    from siloseal.report.document import Table

Config = Annotated[Path, typer.Argument(help="A job's YAML file, of training or of queries.", metavar="CONFIG")]
Silo = Annotated[
    Path | None,
    typer.Option(help="The silo's own silo.yaml, for a training job whose data lie at the silos only.", metavar="FILE"),
]
Steps = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=10_000_000,
        help="Steps of each part, of low bits 500 at most. By default as many as 80 seconds allow in all.",
    ),
]
BROKEN, INTERRUPTED = 4, 130
"""Exit codes: 1 is that of an error, 2 that of a command or a file that is written wrongly, and 3 that of
`check-learner` where something could not be tried."""

UNKNOWN = "not known"
"""What is said of a power that cannot be computed."""


def privacy(
    config: Config, silo: Silo = None, steps: Steps = None, as_json: Json = False, quiet: Quiet = False
) -> None:
    """Attack everything that a job releases, and test what the guesses show against what its ledger would book.

    The real trainer and the real mechanisms run on made-up records. In every step a coin decides whether a canary is
    there, and an attacker who knows all but the coin and the noise guesses. A sound part is called *broken* once in a
    million audits at most; *sound* means that nothing was found, and the last columns say which faults would have been;
    *not tested* means that there were too few steps to find even missing noise, or missing sampling. The exit code is 4
    if something is broken, 1 or 2 if there was an error, 130 after Ctrl-C, and else 0. No budget is spent, and nobody's
    records are looked at.
    """
    from siloseal.federation.analytics.any_job import load_any_job

    job = load_any_job(config)  # before torch is imported: a mistake in the file is said at once
    look_in(config.parent)

    from siloseal.cli.console import Console
    from siloseal.federation.analytics.guarantee import guarantee_in
    from siloseal.privacy_audit.job import plans_left_out, require_auditable

    require_auditable(job)
    found, left_out, over = list["Finding"](), 0, False
    try:
        with Console(quiet=quiet, json=as_json) as console:
            holdings = _holdings(job, silo, console)
            left_out = plans_left_out(job, holdings)
            for finding in _audited(job, holdings, steps, console):
                found.append(finding)
        over = True
    except KeyboardInterrupt:
        done = "what is shown are the parts that are done" if found else "no part was done"
        print(f"\ninterrupted: {done}; nothing is kept, an audit begins anew", file=sys.stderr, flush=True)
    if over or found:
        _show(found, left_out, guarantee_in(job), interrupted=not over, as_json=as_json, quiet=quiet)
    if not over:
        raise typer.Exit(INTERRUPTED)
    if any(finding.verdict == "broken" for finding in found):
        raise typer.Exit(BROKEN)


def _audited(job: "AnyJob", holdings: "Holdings | None", steps: int | None, console: "Console") -> "Iterator[Finding]":
    """Audit part after part, each with its bar, which is full when its part is over, however many steps that took."""
    from siloseal.privacy_audit.job import SECONDS, STEPS, audit_job

    told = set[str]()

    def tell(part: str, done: int, total: int) -> None:
        if part not in told:
            told.add(part)
            console.stage(part, total)
        console.advance(part, None, done, total)

    for finding in audit_job(job, holdings, steps=steps or STEPS, seconds=math.inf if steps else SECONDS, tell=tell):
        console.advance(finding.part, None, finding.guesses.steps, finding.guesses.steps)
        yield finding


def _holdings(job: "AnyJob", silo: Path | None, console: "Console") -> "Holdings | None":
    """What the silos hold, for its shapes and sizes; a job of queries needs none."""
    from siloseal.federation.job.job import Job
    from siloseal.federation.job.sections.data import AtSilos
    from siloseal.privacy_audit.holdings import Holdings

    if not isinstance(job, Job):
        if silo is not None:
            raise ConfigError("a job of queries is audited without anybody's data; leave out --silo")
        return None
    if silo is not None and not isinstance(job.data, AtSilos):
        raise ConfigError(
            f"data.kind is {job.data.kind}, so that the job names its own data, but --silo is for jobs whose data are "
            "at_silos; leave out --silo"
        )
    if silo is None and isinstance(job.data, AtSilos):
        raise ConfigError(
            "data.kind is at_silos, so that the job does not say which shapes and sizes the data have; audit it at a "
            "silo, with --silo silo.yaml"
        )
    console.stage("shapes and sizes of the data", 1)
    found = _simulated(job) if silo is None else Holdings.of_silo(job, silo)
    console.advance("shapes and sizes of the data", None, 1, 1)
    return found


def _simulated(job: "Job") -> "Holdings":
    from siloseal.privacy_audit.holdings import Holdings
    from siloseal.runs.simulation import declared_labels, simulated_data

    parts = simulated_data(job).parts
    return Holdings(parts, {name: declared_labels(job, part) for name, part in parts.items()})


def _show(
    found: "Sequence[Finding]",
    left_out: int,
    guarantee: "Guarantee",
    *,
    interrupted: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show the findings on standard output, and what is broken on standard error in any case."""
    from rich.console import Console as Terminal

    from siloseal.report.terminal import print_line, print_table

    if as_json:
        rows = [as_document(finding, left_out, guarantee, interrupted=interrupted) for finding in found]
        print(json.dumps(rows, indent=2))
    elif not quiet:
        print_table(Terminal(highlight=False), as_table(found, left_out, guarantee))
    for finding in found:
        if finding.verdict == "broken":
            print_line(Terminal(stderr=True, highlight=False), _broken_text(finding), "bold red")


def _broken_text(finding: "Finding") -> str:
    """A finding that is broken, as a line."""
    best = finding.guesses.best
    noise = "" if finding.noise is None else f", measured noise {finding.noise.share:.3f} times the booked"
    sample = finding.sample
    drawn = "" if sample is None else f", measured sampling rate {sample.share:.3g}, booked {sample.rate:.3g}"
    return (
        f"broken: {finding.part}: p {_p_text(finding.p_value)}, {best.right:,} of {best.guesses:,} guesses right "
        f"({best.attacker}){noise}{drawn}"
    )


def as_table(found: "Sequence[Finding]", left_out: int, guarantee: "Guarantee") -> "Table":
    """Return the findings, one a row, what their epsilon protects, and how many plans of steps were left out."""
    from siloseal.report import wording
    from siloseal.report.document import Table

    rows = tuple(
        (
            finding.part,
            finding.verdict,
            _p_text(finding.p_value),
            _proven_text(finding),
            wording.epsilon(finding.booked_epsilon),
            f"{finding.guesses.steps:,}",
            _measured_text(finding),
            _guessed_text(finding),
        )
        for finding in found
    )
    columns = ("audited", "verdict", "p", "proven", "booked", "steps", "measured", "guessed")
    caption = "Privacy audit: epsilon proven and booked, and what would have been found"
    return Table(caption, columns, rows, (2, 3, 4, 5), _note(found, left_out, guarantee))


def _note(found: "Sequence[Finding]", left_out: int, guarantee: "Guarantee") -> str:
    """What the columns mean, and what the audit did not do."""
    words = [
        "Sound: not found broken at this power. Measured and guessed: noise that is too small by this share is found "
        "nine times in ten, by its size or by guesses. Proven: epsilon by the guesses, with 95 % confidence, if the "
        f"noise has the booked shape. Booked: {_booked_text(found, guarantee)}, of these steps or this release alone, "
        "not of the whole job. No audit proves privacy."
    ]
    if any(finding.verdict == "sound" and finding.lower_bound > finding.booked_epsilon for finding in found):
        words.append(
            "Proven is above booked in a sound part: by luck, that happens in one of twenty; audit again, with more "
            "--steps."
        )
    if any(finding.verdict == "not tested" for finding in found):
        words.append(
            "Not tested: too few steps to find even missing noise, or sampling that is left out; give more --steps, or "
            "leave it out."
        )
    words += [f"Of {finding.part}: {said}." for finding in found for said in (*_sampling(finding), *finding.untested)]
    if any(_guessed_text(finding) == UNKNOWN for finding in found):
        words.append(
            f"{UNKNOWN.capitalize()}: guesses about low bits, or against a bound that is not tight, do not say which "
            "size of noise they find."
        )
    if left_out:
        words.append(
            f"Plans of training steps that were left out, none with less noise than those audited: {left_out}."
        )
    return " ".join(words)


def _sampling(finding: "Finding") -> list[str]:
    """Which samples are found to be too large."""
    if (rate := finding.found_sampling_rate) is None or finding.sample is None:
        return []
    booked = finding.sample.rate
    larger = math.ceil(1000 * (rate / booked - 1)) / 10  # rounded up, so that no more is claimed than is found
    return [f"samples {larger:,.1f} % larger than booked are found nine times in ten (rate {booked:.2g})"]


def _booked_text(found: "Sequence[Finding]", guarantee: "Guarantee") -> str:
    """What the booked epsilon is: for whom, at which delta, and by which count."""
    from siloseal.federation.privacy.epsilon import delta_text

    deltas = " or ".join(dict.fromkeys(delta_text(finding.delta) for finding in found))
    ways = " or ".join(dict.fromkeys(finding.booked.accountant for finding in found if finding.booked is not None))
    by = f", by {ways}" if ways else ""
    return f"epsilon at delta {deltas} for {guarantee.protected}{by}"


def as_document(
    finding: "Finding", left_out: int, guarantee: "Guarantee", *, interrupted: bool = False
) -> dict[str, object]:
    """Return one finding for programs, with the job's plans that were left out; what is not finite is null."""
    guesses, noise, sample, booked = finding.guesses, finding.noise, finding.sample, finding.booked
    return {
        "part": finding.part,
        "verdict": finding.verdict,
        "p_value": finding.p_value,
        "audited_event": str(finding.event),
        "booked_event": None if booked is None else str(booked.event),
        "booked_times": None if booked is None else booked.times,
        "proven_epsilon": _finite(finding.lower_bound),
        "booked_epsilon": _finite(finding.booked_epsilon),
        "delta": finding.delta,
        "accountant": None if booked is None else str(booked.accountant),
        "unit": guarantee.unit,
        "relation": guarantee.relation,
        "steps": guesses.steps,
        "seconds": finding.seconds,
        "attacker": guesses.best.attacker,
        "guesses": guesses.best.guesses,
        "right": guesses.best.right,
        "largest_success": guesses.best.bound,
        "p_value_of_guesses": guesses.p_value,
        "p_value_of_noise": None if noise is None else noise.p_value,
        "measured_noise": None if noise is None else noise.share,
        "p_value_of_sample": None if sample is None else sample.p_value,
        "measured_sampling_rate": None if sample is None else sample.share,
        "sampling_rate_found": finding.found_sampling_rate,
        "power_of_guesses_is_known": finding.power_of_guesses_is_known,
        "shortfall_found_by_guesses": finding.found_by_guesses,
        "shortfall_found_by_noise": finding.found_by_noise,
        "canary_over_clip": finding.canary_over_clip,
        "plans_left_out": left_out,
        "interrupted": interrupted,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _p_text(p_value: float) -> str:
    return "below 1e-99" if p_value < 1e-99 else f"{p_value:.2g}"


def _proven_text(finding: "Finding") -> str:
    """The proven epsilon; none where there were too few steps for any verdict."""
    from siloseal.report import wording

    if finding.verdict == "not tested":
        return "-"
    return wording.epsilon(finding.lower_bound) if math.isfinite(finding.lower_bound) else "unbounded"


def _measured_text(finding: "Finding") -> str:
    """The smallest shortfall of noise that nine audits of ten find by its size."""
    return "" if finding.noise is None else _share_text(finding.found_by_noise)


def _guessed_text(finding: "Finding") -> str:
    """The smallest shortfall of noise that nine audits of ten find by guesses."""
    if finding.guesses_can_find and not finding.power_of_guesses_is_known:
        return UNKNOWN
    return _share_text(finding.found_by_guesses)


def _share_text(shortfall: float | None) -> str:
    return "nothing" if shortfall is None else f"{100 * shortfall:.1f} %"
