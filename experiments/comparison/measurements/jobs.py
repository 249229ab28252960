"""A whole job as a measurement: quality, privacy, traffic and time, as its run folder tells them."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from siloseal.experiments.comparison.rows import Row
from siloseal.federation.config.section import Section
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.sections.schedule import TwoPhase
from siloseal.run_folder.summary import Run, read_run

RUN = "run"
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
        *(Row(measure="epsilon", value=cost.epsilon, stage=cost.phase, silo=cost.silo)
          for cost in run.privacy if cost.epsilon is not None),
        *([] if run.summary.delta is None else [Row(measure="delta", value=run.summary.delta)]),
        *(Row(measure=measure, value=value, unit="B", stage=traffic.stage, silo=traffic.silo)
          for traffic in run.traffic
          for measure, value in (("sent_bytes", traffic.sent_bytes), ("received_bytes", traffic.received_bytes))),
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


def _steps(job: Job) -> Iterator[Row]:
    """Yield the training steps of each silo until a global model: the x axis of a convergence curve."""
    if not isinstance(job.schedule, TwoPhase):
        return
    yield Row(measure="steps", value=0, stage=Phase.WARM_START)
    yield Row(measure="steps", value=job.schedule.local_steps, stage=Phase.PHASE_1)
    for number in range(1, job.schedule.tuning_rounds + 1):
        steps = job.schedule.local_steps + number * job.schedule.tuning_steps
        yield Row(measure="steps", value=steps, stage=f"round_{number}")
