"""A plan, as a table for a person or as JSON for a program."""

import dataclasses
from collections.abc import Iterator, Sequence

from rich.console import Console as Terminal
from rich.padding import Padding
from rich.text import Text

from siloseal.federation.job.guarantee import guarantee_of
from siloseal.federation.job.job import Job
from siloseal.federation.job.phase_sums import phase_sums
from siloseal.federation.job.sections.privacy import NoPrivacy, UnitLevel
from siloseal.federation.privacy.guarantee import for_one_example
from siloseal.report import wording
from siloseal.report.document import Table
from siloseal.report.sentences import WithAlone, most_with_alone
from siloseal.report.terminal import print_table
from siloseal.run_folder.metrics import phase_title
from siloseal.run_folder.summary import as_kept
from siloseal.runs.guarantees import baseline_warnings
from siloseal.runs.plan import Plan, SiloCost

COMPARISONS = ("silo_alone", "pooled")
"""Stages that train once more, to compare with, and are no part of the job."""


def as_document(plan: Plan) -> dict[str, object]:
    """The plan for programs: everything but the job, which they gave, and what its epsilon is about."""
    found = dataclasses.asdict(plan)
    del found["job"]
    for silo in found["silos"]:
        silo["epsilon_of_one_example"] = as_kept(silo["epsilon_of_one_example"])
    return {**found, "uploads": [upload.model_dump() for upload in plan.uploads], **_privacy(plan)}


def _privacy(plan: Plan) -> dict[str, object]:
    """The job's guarantee; nothing where privacy is off."""
    if isinstance(privacy := plan.job.privacy, NoPrivacy):
        return {}
    guarantee = guarantee_of(plan.job)
    found: dict[str, object] = {
        "delta": privacy.delta,
        "unit": guarantee.unit,
        "relation": guarantee.relation,
        "epsilon_of_one_example": as_kept(plan.epsilon_of_one_example),
    }
    if (most := _with_alone(plan)) is not None:
        epsilon, delta = most.both
        found |= {"epsilon_with_silos_alone": epsilon, "delta_with_silos_alone": delta}
    return found


def print_plan(terminal: Terminal, plan: Plan) -> None:
    """Print what each silo spends, what each phase takes and uploads, and the sizes of the whole."""
    job = plan.job
    print_table(terminal, _silos(job, plan))
    print_table(terminal, _phases(plan))
    print_table(terminal, _uploads(job, plan))
    privacy = job.privacy
    unit = ""
    if not isinstance(privacy, NoPrivacy):
        unit = f" at delta {wording.delta(privacy.delta)} for {guarantee_of(job).protected}"
    largest = max((cost.epsilon["total"] for cost in plan.silos if cost.epsilon), default=None)
    terminal.print(f"epsilon  {wording.epsilon(largest)}{unit}")
    if plan.accountant is not None:
        terminal.print(f"         by {plan.accountant}")
    if isinstance(privacy, UnitLevel) and privacy.reserve_steps:
        kept = f"{privacy.reserve_steps:,} steps are held in reserve for crashes, up to epsilon {privacy.epsilon:g}"
        terminal.print(Padding(Text(kept), (0, 0, 0, len("epsilon  "))))
    if not isinstance(privacy, NoPrivacy) and (of_one := plan.epsilon_of_one_example) is not None:
        terminal.print(Padding(Text(for_one_example(of_one, privacy.delta)), (0, 0, 0, len("epsilon  "))))
    if (most := _with_alone(plan)) is not None:
        terminal.print(Padding(Text(most.said(unit=guarantee_of(job).unit)), (0, 0, 0, len("epsilon  "))))
    if not isinstance(privacy, NoPrivacy):
        terminal.print(f"noise    {guarantee_of(job).noise}")
    for warning in baseline_warnings(job):
        terminal.print(f"sums     {warning}")
    terminal.print(f"model    {plan.parameters:,} shared parameters")
    if plan.code is not None:
        target, _, digest = plan.code.partition("@")
        terminal.print(f"code     {target}\n         {digest}")
    terminal.print(f"memory   about {wording.size(plan.memory_bytes)}")
    in_job = sum(spent for stage, spent in plan.seconds.items() if stage not in COMPARISONS)
    terminal.print(f"time     about {wording.duration(in_job)} on this machine; the scoring of models is not counted")
    for line in _comparisons(plan):
        terminal.print(Padding(Text(line), (0, 0, 0, len("time     "))))


def _with_alone(plan: Plan) -> WithAlone | None:
    """What the silo spends that spends most once it is trained alone as well; None where none is."""
    if isinstance(privacy := plan.job.privacy, NoPrivacy):
        return None
    return most_with_alone(
        WithAlone(cost.epsilon["total"], cost.epsilon_alone, privacy.delta)
        for cost in plan.silos
        if cost.epsilon is not None and cost.epsilon_alone is not None
    )


def _silos(job: Job, plan: Plan) -> Table:
    phases = list(dict.fromkeys(phase for cost in plan.silos for phase in cost.epsilon or {}))
    sizes = ("examples", *_of_tasks(job, "tasks"))
    columns = ("silo", *sizes, "sampling rate", "step noise", *(f"ε {_short(phase)}" for phase in phases))
    rows = tuple((cost.name, *_sizes(job, cost), *_noise(cost, phases)) for cost in plan.silos)
    return Table(f"{job.name}: what each silo spends", columns, rows, numbers=tuple(range(1, len(columns))))


def _sizes(job: Job, cost: SiloCost) -> tuple[str, ...]:
    return (f"{cost.examples:,}", *_of_tasks(job, f"{cost.units:,}"))


def _noise(cost: SiloCost, phases: Sequence[str]) -> tuple[str, ...]:
    noise = cost.plan.step_noise
    spent = [wording.epsilon(cost.epsilon.get(phase)) if cost.epsilon else "" for phase in phases]
    return (f"{cost.plan.sampling_rate:.4f}", f"{noise:.3f}" if noise is not None else "none", *spent)


def _of_tasks(job: Job, cell: str) -> tuple[str, ...]:
    """A cell that only jobs have whose units are tasks."""
    return (cell,) if job.units == "tasks" else ()


def _phases(plan: Plan) -> Table:
    rows = []
    for phase in dict.fromkeys([*plan.upload_bytes, *plan.seconds]):
        if phase in COMPARISONS:
            continue
        steps = max((taken for cost in plan.silos for of, taken in cost.plan.steps.items() if of == phase), default=0)
        traffic = (wording.size(count.get(phase, 0)) for count in (plan.upload_bytes, plan.download_bytes))
        rows.append((phase_title(phase), f"{steps:,}", *traffic, wording.duration(plan.seconds.get(phase, 0.0))))
    columns = ("phase", "steps a silo", "sent by a silo", "received by a silo", "time")
    return Table("what each phase takes", columns, tuple(rows), numbers=(1, 2, 3, 4))


def _comparisons(plan: Plan) -> Iterator[str]:
    """What is trained once more to compare the federation with, what it takes, and what it would cost."""
    if "silo_alone" in plan.seconds:
        trained, silos = plan.job.evaluation.most_silos, len(plan.silos)
        who = "each silo" if trained >= silos else f"{trained} of {silos} silos"
        time = wording.duration(plan.seconds["silo_alone"])
        yield f"about {time} more to train {who} alone, for comparison (evaluation.silo_alone)"
    if "pooled" in plan.seconds:
        time = wording.duration(plan.seconds["pooled"])
        yield f"about {time} more to train on all records together, without privacy, for comparison (evaluation.pooled)"


def _uploads(job: Job, plan: Plan) -> Table:
    kinds = {str(found.phase): found.config.kind for found in phase_sums(job)}
    rows = [(phase_title(upload.stage), upload.what, kinds[upload.stage], upload.note) for upload in plan.uploads]
    return Table("what each phase uploads", ("phase", "upload", "secure sum", "which means"), tuple(rows))


def _short(phase: str) -> str:
    return "total" if phase == "total" else phase_title(phase).lower()
