"""A whole job as a measurement: quality, privacy, traffic and time, as its run folder tells them."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from siloseal.experiments.comparison.rows import Row
from siloseal.federation.config.section import Section
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.sections.privacy import SiloLevel
from siloseal.federation.job.sections.schedule import FedAvg, TwoPhase
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.run_folder.run import Run, read_run

RUN = "run"
MOST_SILOS = 200
"""Most silos that have rows of their own."""
STATE = ("aggregator", "alone", "silos")
"""Folders of what a run's parties keep: journals, checkpoints, keys, ledgers. A grid's would fill gigabytes."""


class JobMeasurement(Section):
    """Runs a job with silos in this process."""

    NAME: ClassVar[str] = "cell"
    """Name of all cells' jobs: one for all, so that it makes no difference."""

    kind: Literal["job"]
    job: Job = Field(description="the job's file, from where the comparison lies; its settings may vary")

    def run(self, folder: Path) -> list[Row]:
        """Run the job. One silo computes at a time: other cells run beside this one."""
        from siloseal.runs.run import run_job  # here: torch takes seconds to import, and cells of other kinds need none

        run_dir = folder / RUN
        run_job(self.job, run_dir, workers=1)
        return rows_of(self.job, read_run(run_dir))


def shed(folder: Path) -> None:
    """Remove the parties' state from a finished cell, whose run never goes on. Its report has what ledgers said."""
    for part in STATE:
        if (path := folder / RUN / part).exists():
            shutil.rmtree(path)


def rows_of(job: Job, run: Run) -> list[Row]:
    """Return everything in a finished run that a figure may need."""
    return [
        *_quality(run),
        *_steps(job),
        *_gathered(_spent(run), max),
        *_hidden_sampling(job, run),
        *([] if run.summary.delta is None else [Row(measure="delta", value=run.summary.delta)]),
        *_gathered(_traffic(run), sum),
        *(Row(measure="seconds", value=timing.seconds, unit="s", stage=timing.stage)
          for timing in run.timing),
        Row(measure="seconds", value=run.summary.seconds, unit="s", stage="total"),
    ]  # fmt: skip


def _quality(run: Run) -> Iterator[Row]:
    """Yield rows of quality: `accuracy` is the headline's; `other_accuracy` names its classifier in `detail`."""
    for quality in run.quality:
        place = {"stage": quality.stage, "silo": quality.silo or ""}
        for number, (name, value) in enumerate(quality.accuracy.items()):
            yield Row(measure="other_accuracy" if number else "accuracy", value=value, detail=name, **place)
        if quality.frechet is not None:
            yield Row(measure="frechet", value=quality.frechet, **place)


def _spent(run: Run) -> Iterator[Row]:
    for cost in run.privacy:
        if cost.epsilon is not None:
            yield Row(measure="epsilon", value=cost.epsilon, stage=cost.phase, silo=cost.silo)


def _traffic(run: Run) -> Iterator[Row]:
    for traffic in run.traffic:
        for measure, value in (("sent_bytes", traffic.sent_bytes), ("received_bytes", traffic.received_bytes)):
            yield Row(measure=measure, value=value, unit="B", stage=traffic.stage, silo=traffic.silo)


def _gathered(rows: Iterable[Row], gather: Callable[[Iterable[float]], float]) -> Iterable[Row]:
    """Return the rows; of very many silos one row for all of them, or a table of cells would have millions."""
    found = list(rows)
    if len({row.silo for row in found}) <= MOST_SILOS:
        return found
    kinds = dict[tuple[str, str], list[Row]]()
    for row in found:
        kinds.setdefault((row.measure, row.stage), []).append(row)
    return [
        first.model_copy(update={"value": gather(row.value for row in of), "silo": "", "detail": "all silos"})
        for of in kinds.values()
        for first in of[:1]
    ]


def _hidden_sampling(job: Job, run: Run) -> Iterator[Row]:
    """Yield the epsilon that the aggregator's noise would mean if nobody could know whom a round asks.

    Everyone can: a public rule chooses the silos. But published experiments often count so.
    """
    if not isinstance(job.schedule, FedAvg) or job.noise.kind != "gaussian_central" or run.summary.delta is None:
        return
    from siloseal.federation.privacy.accounting import epsilon_of  # here: scipy takes a second to import

    multipliers = [cost.noise_multiplier for cost in run.privacy if cost.noise_multiplier is not None]
    if multipliers and isinstance(job.privacy, SiloLevel):
        steps = SampledGaussianSteps(job.schedule.fraction, min(multipliers), job.schedule.rounds)
        yield Row(measure="epsilon_if_hidden", value=epsilon_of([steps], run.summary.delta), stage="total")


def _steps(job: Job) -> Iterator[Row]:
    """Yield the training steps of each silo until a global model: the x axis of a convergence curve."""
    if not isinstance(job.schedule, TwoPhase):
        return
    yield Row(measure="steps", value=0, stage=Phase.WARM_START)
    yield Row(measure="steps", value=job.schedule.local_steps, stage=Phase.PHASE_1)
    for number in range(1, job.schedule.tuning_rounds + 1):
        steps = job.schedule.local_steps + number * job.schedule.tuning_steps
        yield Row(measure="steps", value=steps, stage=f"round_{number}")
