"""`siloseal audit privacy`: whether the code keeps what the ledger books, and how that looks."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siloseal.cli.options import Json, Quiet
from siloseal.models.user_code.places import look_in

if TYPE_CHECKING:
    from siloseal.federation.analytics.any_job import AnyJob
    from siloseal.privacy_audit.finding import Finding
    from siloseal.privacy_audit.job import Holdings
    from siloseal.report.document import Table

Config = Annotated[Path, typer.Argument(help="A job's YAML file, of training or of queries.", metavar="CONFIG")]
Steps = Annotated[
    int | None,
    typer.Option(min=1, max=10_000_000, help="Steps of each part. By default as many as 80 seconds allow in all."),
]
BROKEN = 1
"""Exit code where something is broken; 2 is that of a command that is typed wrongly."""


def privacy(config: Config, steps: Steps = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Attack everything that a job releases, and test what the guesses show against what its ledger would book.

    The real trainer and the real mechanisms run on made-up records. In every step a coin decides whether a canary is
    there, and an attacker who knows all but the coin and the noise guesses. A sound part is called *broken* once in a
    million audits at most; *sound* means that nothing was found, and the last column says which faults would have been.
    The exit code is 0 if all is sound, and 1 if something is broken. No budget is spent, and nobody's records are
    looked at.
    """
    from siloseal.federation.analytics.any_job import load_any_job

    job = load_any_job(config)  # before torch is imported: a mistake in the file is said at once
    look_in(config.parent)

    from siloseal.cli.console import Console
    from siloseal.privacy_audit.job import SECONDS, STEPS, audit_job, plans_left_out, require_auditable

    require_auditable(job)
    with Console(quiet=quiet, json=as_json) as console:
        told = set[str]()

        def tell(part: str, done: int, total: int) -> None:
            if part not in told:
                told.add(part)
                console.stage(part, total)
            console.advance(part, None, done, total)

        console.stage("made-up records", 1)
        holdings = _holdings(job)
        limit = math.inf if steps else SECONDS
        found = list(audit_job(job, holdings, steps=steps or STEPS, seconds=limit, tell=tell))
        left_out = plans_left_out(job, holdings)
    _show(found, left_out, as_json=as_json, quiet=quiet)
    if any(finding.verdict == "broken" for finding in found):
        raise typer.Exit(BROKEN)


def _holdings(job: "AnyJob") -> "Holdings | None":
    """What the silos hold, for its shapes and sizes."""
    from siloseal.federation.job.job import Job
    from siloseal.privacy_audit.job import Holdings

    if not isinstance(job, Job):
        return None
    from siloseal.runs.simulation import declared_labels, simulated_data

    parts = simulated_data(job).parts
    return Holdings(parts, {name: declared_labels(job, part) for name, part in parts.items()})


def _show(found: "Sequence[Finding]", left_out: int, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        print(json.dumps([as_document(finding, left_out) for finding in found], indent=2))
    elif not quiet:
        from rich.console import Console as Terminal

        from siloseal.report.terminal import print_table

        print_table(Terminal(highlight=False), as_table(found, left_out))


def as_table(found: "Sequence[Finding]", left_out: int) -> "Table":
    """Return the findings, one a row, and how many plans of training steps were left out."""
    from siloseal.report import wording
    from siloseal.report.document import Table

    rows = tuple(
        (
            finding.part,
            finding.verdict,
            _p_text(finding.p_value),
            wording.epsilon(finding.lower_bound) if math.isfinite(finding.lower_bound) else "unbounded",
            wording.epsilon(finding.booked_epsilon),
            f"{finding.guesses.steps:,}",
            _found_text(finding),
        )
        for finding in found
    )
    columns = ("audited", "verdict", "p", "proven epsilon", "booked epsilon", "steps", "finds a shortfall of")
    note = (
        "Sound: not found broken at this power, which finds noise that is too small by the last column's share nine "
        "times in ten. Proven: by the guesses, with 95 % confidence, if the noise has the booked shape. No audit "
        "proves privacy."
    )
    note += "".join(f" Of {finding.part}: {said}." for finding in found if (said := finding.untested_clip))
    if left_out:
        note += f" Plans of training steps that were left out, none with less noise than those audited: {left_out}."
    return Table("Privacy audit", columns, rows, (2, 3, 4, 5), note)


def as_document(finding: "Finding", left_out: int) -> dict[str, object]:
    """Return one finding for programs, with the job's plans that were left out; what is not finite is null."""
    guesses, noise = finding.guesses, finding.noise
    return {
        "part": finding.part,
        "verdict": finding.verdict,
        "p_value": finding.p_value,
        "event": str(finding.event),
        "proven_epsilon": _finite(finding.lower_bound),
        "booked_epsilon": _finite(finding.booked_epsilon),
        "delta": finding.delta,
        "steps": guesses.steps,
        "seconds": finding.seconds,
        "attacker": guesses.best.attacker,
        "guesses": guesses.best.guesses,
        "right": guesses.best.right,
        "largest_success": guesses.best.bound,
        "p_value_of_guesses": guesses.p_value,
        "p_value_of_noise": None if noise is None else noise.p_value,
        "measured_noise": None if noise is None else noise.share,
        "shortfall_found_by_guesses": finding.found_by_guesses,
        "shortfall_found_by_noise": finding.found_by_noise,
        "canary_over_clip": finding.canary_over_clip,
        "plans_left_out": left_out,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _p_text(p_value: float) -> str:
    return "below 1e-99" if p_value < 1e-99 else f"{p_value:.2g}"


def _found_text(finding: "Finding") -> str:
    """The smallest shortfall of noise that nine audits of ten find."""
    ways = {"measured": finding.found_by_noise, "guessed": finding.found_by_guesses}
    known = [f"{100 * share:.1f} % {way}" for way, share in ways.items() if share is not None]
    return ", ".join(known) or "all noise"
