"""Rounds of federated averaging until a model is good enough, as a measurement."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from siloseal.aggregator.journal import Journal
from siloseal.experiments.comparison.measurements.jobs import RUN
from siloseal.experiments.comparison.rows import Row
from siloseal.federation.config.section import Section
from siloseal.federation.job.agreement import RUN_ID_BYTES
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.sections.schedule import FedAvg
from siloseal.federation.run_events.coordination import ModelReleased
from siloseal.federation.run_events.stream import RunEvent


class NoJournal(Journal):
    """The journal of a run that nobody goes on with: a cell begins anew. A thousand models would fill a disk."""

    def __init__(self) -> None:
        self.run_id = os.urandom(RUN_ID_BYTES)

    def replies(self, number: int, requests: Mapping[str, bytes]) -> dict[str, bytes]:
        """No replies: none was kept."""
        return {}

    def record(self, number: int, silo: str, request_digest: bytes, reply: bytes) -> None:
        """Keep nothing."""

    def end(self, number: int) -> None:
        """Keep nothing."""

    def has_ended(self, number: int) -> bool:
        """Never: no request was asked before."""
        return False

    def result(self, name: str, compute: Callable[[], bytes]) -> bytes:
        """The result, computed now."""
        return compute()


class TargetReached(Exception):
    """The model is good enough: the rounds that are left need not run."""


class RoundsMeasurement(Section):
    """Runs a job with silos in this process, without a report, until its model reaches the target."""

    kind: Literal["rounds"]
    job: Job = Field(description="the job's file, from where the comparison lies; its settings may vary")
    target: float = Field(
        default=0.97, gt=0, lt=1, description="share of held-out records that ends the run when it is reached"
    )

    @model_validator(mode="after")
    def _has_rounds(self) -> Self:
        if not isinstance(self.job.schedule, FedAvg):
            raise ValueError(  # noqa: TRY004 (pydantic wants a ValueError)
                f"schedule.kind is {self.job.schedule.kind}, whose rounds nobody counts; choose fedavg"
            )
        if self.job.learner.kind != "classifier":
            raise ValueError(
                f"learner.kind is {self.job.learner.kind}, but the target is a share of records that a classifier names"
            )
        return self

    def run(self, folder: Path) -> list[Row]:
        """Run the job. One silo computes at a time: other cells run beside this one."""
        accuracies = self._run(folder / RUN)
        rows = [
            Row(measure="accuracy", value=value, stage=f"round_{number}" if number else Phase.WARM_START)
            for number, value in enumerate(accuracies)
        ]
        rows.append(Row(measure="target", value=self.target))
        rows.append(Row(measure="rounds", value=len(accuracies) - 1))
        reached = rounds_to(self.target, accuracies)
        return rows if reached is None else [*rows, Row(measure="rounds_to_target", value=reached)]

    def _run(self, folder: Path) -> list[float]:
        """The accuracy of the first model, and of the model of each round."""
        # Here: torch takes seconds to import, and cells of other kinds need none.
        import torch
        from threadpoolctl import threadpool_limits

        from siloseal.aggregator.coordinator import Coordinator
        from siloseal.aggregator.training import AggregatorTraining
        from siloseal.federation.randomness import SecureRandomness
        from siloseal.models.building import load_model
        from siloseal.models.evaluation.outputs import outputs_of
        from siloseal.runs.simulation import deal, local_engine, open_silos
        from siloseal.silo.data.loading import load
        from siloseal.silo.public_start import public_sum

        job, accuracies = self.job, list[float]()
        train, held_out = load(job.data)

        def hear(event: RunEvent) -> None:
            if isinstance(event, ModelReleased):
                model = load_model(job, train.shape, train.classes, event.model)
                named = outputs_of(model, held_out.inputs).argmax(1)
                accuracies.append((named == held_out.labels).double().mean().item())
                if accuracies[-1] >= self.target:
                    raise TargetReached

        torch.set_num_threads(1)
        with threadpool_limits(1):
            try:
                with open_silos(job, deal(job, train), folder, lambda _: SecureRandomness(), hear) as silos:
                    work = AggregatorTraining(job, partial(public_sum, own=job.data), hear)
                    Coordinator(job, work, local_engine(silos, workers=1), NoJournal(), hear).run()
            except TargetReached:
                pass
        return accuracies


def rounds_to(target: float, accuracies: Sequence[float]) -> float | None:
    """Number of rounds until the best accuracy so far crosses the target, between two rounds in proportion.

    So McMahan et al. 2017 count them. `accuracies` begins with the model before the first round; None where the target
    is not reached.
    """
    best = 0.0
    for number, value in enumerate(accuracies):
        if value >= target:
            return float(number) if number == 0 else number - 1 + (target - best) / (value - best)
        best = max(best, value)
    return None
