"""A plan, as a table for a person or as JSON for a program."""

import dataclasses
import json

from rich.console import Console as Terminal
from rich.table import Table

from siloseal.federation.job.guarantee import guarantee_of
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.privacy import NoPrivacy
from siloseal.report import wording
from siloseal.report.guarantees import baseline_warnings
from siloseal.runs.metrics import phase_title
from siloseal.runs.plan import Plan


def print_plan(job: Job, plan: Plan, *, as_json: bool) -> None:
    """To standard output."""
    if as_json:
        print(json.dumps(dataclasses.asdict(plan), indent=2))
        return
    terminal = Terminal(highlight=False)
    terminal.print(_silos(job, plan))
    terminal.print(_phases(job, plan))
    privacy = job.privacy
    unit = "" if isinstance(privacy, NoPrivacy) else f" at delta {privacy.delta:g}, for {_protected(job)}"
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
    table = Table("silo", title=f"{job.name}: what each silo spends", title_justify="left")
    for column in (
        "examples",
        *_of_tasks(job, "tasks"),
        "sampling rate",
        "step noise",
        *(f"ε {_short(phase)}" for phase in phases),
    ):
        table.add_column(column, justify="right")
    for cost in plan.silos:
        noise = cost.plan.step_noise
        spent = [wording.epsilon(cost.epsilon.get(phase)) if cost.epsilon else "" for phase in phases]
        shown = f"{noise:.3f}" if noise is not None else "none"
        sizes = (f"{cost.examples:,}", *_of_tasks(job, f"{cost.units:,}"))
        table.add_row(cost.name, *sizes, f"{cost.plan.sampling_rate:.4f}", shown, *spent)
    return table


def _of_tasks(job: Job, cell: str) -> tuple[str, ...]:
    """A cell that only jobs have whose units are tasks."""
    return (cell,) if job.units == "tasks" else ()


def _phases(job: Job, plan: Plan) -> Table:
    table = Table("phase", title="what each phase takes", title_justify="left")
    for column in ("steps a silo", "sent by a silo", "received by a silo", "time"):
        table.add_column(column, justify="right")
    phases = dict.fromkeys([*plan.upload_bytes, *plan.seconds])
    for phase in phases:
        steps = max((taken for cost in plan.silos for of, taken in cost.plan.steps.items() if of == phase), default=0)
        table.add_row(
            phase_title(phase),
            f"{steps:,}",
            wording.size(plan.upload_bytes.get(phase, 0)),
            wording.size(plan.download_bytes.get(phase, 0)),
            wording.duration(plan.seconds.get(phase, 0.0)),
        )
    return table


def _short(phase: str) -> str:
    return "total" if phase == "total" else phase_title(phase).lower()


def _protected(job: Job) -> str:
    guarantee = guarantee_of(job)
    return f"{guarantee.unit}, {guarantee.relation}"
