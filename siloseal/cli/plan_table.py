"""A plan, as a table for a person or as JSON for a program."""

import dataclasses
import json
from collections.abc import Sequence

from rich.console import Console as Terminal

from siloseal.federation.job.guarantee import guarantee_of
from siloseal.federation.job.job import Job
from siloseal.federation.job.phase_sums import phase_sums
from siloseal.federation.job.sections.privacy import NoPrivacy
from siloseal.report import wording
from siloseal.report.document import Table
from siloseal.report.terminal import print_table
from siloseal.run_folder.metrics import Record, phase_title
from siloseal.runs.guarantees import baseline_warnings
from siloseal.runs.plan import Plan, SiloCost


def print_plan(job: Job, plan: Plan, *, as_json: bool) -> None:
    """Print the plan to standard output."""
    if as_json:
        print(json.dumps(dataclasses.asdict(plan), indent=2, default=Record.model_dump))
        return
    terminal = Terminal(highlight=False)
    print_table(terminal, _silos(job, plan))
    print_table(terminal, _phases(plan))
    print_table(terminal, _uploads(job, plan))
    privacy = job.privacy
    unit = "" if isinstance(privacy, NoPrivacy) else f" at delta {wording.delta(privacy.delta)}, for {_protected(job)}"
    largest = max((cost.epsilon["total"] for cost in plan.silos if cost.epsilon), default=None)
    terminal.print(f"epsilon  {wording.epsilon(largest)}{unit}")
    if plan.tightest_epsilon is not None:
        tightest = wording.epsilon(plan.tightest_epsilon)
        terminal.print(f"         {tightest} by privacy loss distributions, which are tighter")
    if not isinstance(privacy, NoPrivacy):
        terminal.print(f"noise    {guarantee_of(job).noise}")
    for warning in baseline_warnings(job):
        terminal.print(f"sums     {warning}")
    terminal.print(f"model    {plan.parameters:,} shared parameters")
    terminal.print(f"memory   about {wording.size(plan.memory_bytes)}")
    terminal.print(f"time     about {wording.duration(sum(plan.seconds.values()))} on this machine, evaluation aside")


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
        steps = max((taken for cost in plan.silos for of, taken in cost.plan.steps.items() if of == phase), default=0)
        traffic = (wording.size(count.get(phase, 0)) for count in (plan.upload_bytes, plan.download_bytes))
        rows.append((phase_title(phase), f"{steps:,}", *traffic, wording.duration(plan.seconds.get(phase, 0.0))))
    columns = ("phase", "steps a silo", "sent by a silo", "received by a silo", "time")
    return Table("what each phase takes", columns, tuple(rows), numbers=(1, 2, 3, 4))


def _uploads(job: Job, plan: Plan) -> Table:
    kinds = {str(found.phase): found.config.kind for found in phase_sums(job)}
    rows = [(phase_title(upload.stage), upload.what, kinds[upload.stage], upload.note) for upload in plan.uploads]
    return Table("what each phase uploads", ("phase", "upload", "secure sum", "which means"), tuple(rows))


def _short(phase: str) -> str:
    return "total" if phase == "total" else phase_title(phase).lower()


def _protected(job: Job) -> str:
    guarantee = guarantee_of(job)
    return f"{guarantee.unit}, {guarantee.relation}"
