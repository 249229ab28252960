"""Training at the aggregator, read from top to bottom: warm start, train, sum once, tune R times; or FedAvg."""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import assert_never

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from siloseal.aggregator.clip_norm import ClipNorm
from siloseal.aggregator.dispatcher import Dispatcher
from siloseal.aggregator.server_optimizers import ServerOptimizer, build_server_optimizer
from siloseal.aggregator.spending import Spending
from siloseal.federation.errors import MessageError, RunError
from siloseal.federation.job.contributions import start_of, to_model
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase, rounds_of
from siloseal.federation.job.releases import Release, Run, release_of
from siloseal.federation.job.sections.data import MOST_CLASSES
from siloseal.federation.job.sections.server_optimizers import ServerAverage
from siloseal.federation.job.sections.warm_start import ColdStart, KernelMeanStart, LeaderStart, PublicStart
from siloseal.federation.run_events.aggregator import FittingProgressed
from siloseal.federation.run_events.coordination import Model, ModelReleased, RoundBegan, SilosEnrolled
from siloseal.federation.run_events.stream import Subscriber
from siloseal.federation.shapes import LARGEST_EXAMPLE, MOST_DIMENSIONS, Shape
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import to_array
from siloseal.models.building import (
    feature_map,
    initial_model,
    load_generator,
    load_model,
    vector_lengths,
    with_generator,
)
from siloseal.models.kernel_mean import FeatureMap, fit_generator
from siloseal.models.model_files import shared_model_file

PublicSum = Callable[[PublicStart, FeatureMap], NDArray[np.float64]]
"""The labelled sum of public data; given by the caller, because what reads data belongs to the silos."""

STEPS_BETWEEN_EVENTS = 10
"""Number of fitting steps from one event of progress to the next."""


@dataclass(frozen=True)
class TrainedModel:
    """The global model at the end of a job, and the examples that it is for."""

    job: Job
    model: Model
    shape: Shape
    classes: int

    def network(self) -> nn.Module:
        """The model as a network."""
        return load_model(self.job, self.shape, self.classes, self.model)

    def file(self) -> bytes:
        """The model as a file."""
        job, network = self.job, self.network()
        return shared_model_file(job.learner, self.shape, self.classes, network, columns=job.data.declared)


class AggregatorTraining:
    """The aggregator's work in a job that trains a model."""

    def __init__(self, job: Job, public_sum: PublicSum, publish: Subscriber) -> None:
        self._job, self._public_sum, self._publish = job, public_sum, publish
        self._clip_norm, self._spending = ClipNorm(job), Spending(job, publish)

    def check_enrolment(self, silo: str, reply: pb.Reply) -> None:
        shape, classes = list(reply.enrolled.shape), reply.enrolled.classes
        sized = 1 <= len(shape) <= MOST_DIMENSIONS and min(shape) >= 1 and math.prod(shape) <= LARGEST_EXAMPLE
        if not sized or classes > MOST_CLASSES:
            raise MessageError(
                f"{silo} enrols with examples of shape {shape[:MOST_DIMENSIONS]} in {classes} classes, expected up to "
                f"{MOST_DIMENSIONS} sizes of {LARGEST_EXAMPLE:,} numbers in all, and up to {MOST_CLASSES} classes"
            )

    def enrol(self, replies: Mapping[str, pb.Reply]) -> None:
        kinds = {silo: (tuple(r.enrolled.shape), r.enrolled.classes) for silo, r in replies.items()}
        if len(set(kinds.values())) != 1:
            raise RunError(
                f"the silos' data differ in shape or classes: {kinds}; convert them, or agree on the classes, and "
                "begin another run"
            )
        self._shape, self._classes = next(iter(kinds.values()))

    def run(self, run: Run, dispatcher: Dispatcher) -> TrainedModel:
        self._run, self._dispatcher = run, dispatcher
        self._lengths = vector_lengths(self._job, self._shape, self._classes)
        self._publish(SilosEnrolled(self._shape, self._classes))
        dispatcher.enter(Phase.WARM_START)
        model = self._warm_start()
        self._publish(ModelReleased(Phase.WARM_START, model))
        for phase in (Phase.PHASE_1, Phase.PHASE_2, Phase.FEDAVG):
            model = self._trained_phase(phase, model)
        self._final = model
        return TrainedModel(self._job, model, self._shape, self._classes)

    def finish(self) -> pb.Finish:
        return pb.Finish(model=to_array(self._final))

    def _warm_start(self) -> Model:
        job = self._job
        cold = initial_model(job, self._shape, self._classes)
        match job.warm_start:
            case ColdStart():
                return cold
            case PublicStart() as start:
                return self._computed("fit", partial(self._fit_to_public, start, cold))
            case LeaderStart():
                return self._trained(Phase.WARM_START, 0, cold)
            case KernelMeanStart() as start:
                release = release_of(job, self._lengths, Phase.WARM_START, 0)
                request = dict.fromkeys(release.roster, pb.Request(kernel_mean=pb.KernelMean()))
                prepared = self._dispatcher.ask(request, fewest=release.quorum)
                noised = self._sum(release, prepared).total.astype(np.float64)
                return self._computed("fit", partial(self._fit, start, cold, noised))
            case _:
                assert_never(job.warm_start)

    def _fit_to_public(self, start: PublicStart, cold: Model) -> Model:
        features = feature_map(self._job, start, self._shape, self._classes)
        return self._fit(start, cold, self._public_sum(start, features))

    def _fit(self, start: KernelMeanStart | PublicStart, cold: Model, total: NDArray[np.float64]) -> Model:
        generator = load_generator(self._job, self._shape, self._classes, cold)
        fit_generator(
            generator,
            feature_map(self._job, start, self._shape, self._classes),
            torch.from_numpy(total),
            steps=start.fit_steps,
            batch=start.fit_batch,
            learning_rate=start.learning_rate,
            seed=self._job.seed,
            on_step=lambda step, _: self._fitted(step + 1, start.fit_steps),
        )
        return with_generator(cold, generator)

    def _fitted(self, done: int, steps: int) -> None:
        if done % STEPS_BETWEEN_EVENTS == 0 or done == steps:
            self._publish(FittingProgressed(done, steps))

    def _trained_phase(self, phase: Phase, model: Model) -> Model:
        """The model after every round of a phase; the same model where the job has no such phase."""
        rounds = rounds_of(self._job, phase)
        server = self._server_optimizer(phase)
        if rounds:
            self._dispatcher.enter(phase)
        for number in rounds:
            if number:
                self._publish(RoundBegan(number))
            model = server.step(model, self._trained(phase, number, model))
            self._publish(ModelReleased(f"round_{number}" if number else phase, model))
        return model

    def _server_optimizer(self, phase: Phase) -> ServerOptimizer:
        """The job's, for rounds that follow each other; the one aggregation of phase 1 is the plain average."""
        config = ServerAverage() if phase is Phase.PHASE_1 else self._job.schedule.server
        return build_server_optimizer(config, largest_weight=self._job.largest_weight)

    def _trained(self, phase: Phase, number: int, model: Model) -> Model:
        """The average of what the round's silos make of the model. Silent silos are left out, if enough remain."""
        clip_norm = self._clip_norm.requested
        train = pb.Train(phase=phase, round=number, model=to_array(model), clip_norm=clip_norm)
        release = release_of(self._job, self._lengths, phase, number, clip_norm)
        replies = self._train(release, train)
        for silo, reply in replies.items():
            if reply.prepared.stopped_by_budget:
                where = f"{phase}, round {number}" if number else phase
                self._dispatcher.note(f"{silo} spent its privacy budget and stopped in {where}, before its last step")
        summed = self._sum(release, replies, start_of(train))
        self._clip_norm.follow(release, summed)
        return to_model(self._job, summed, model)

    def _train(self, release: Release, train: pb.Train) -> dict[str, pb.Reply]:
        """The replies of the silos that have trained. What they spent on it is published as soon as they say so."""
        reported = set[str]()

        def hear(silo: str, reply: pb.Reply) -> None:
            self._spending.check(silo, reply.prepared.epsilon_spent)
            if release.event is None:  # else the steps cost nothing, and the sum does
                self._spending.report(silo, reply.prepared.epsilon_spent)
                reported.add(silo)

        bodies = dict.fromkeys(release.roster, pb.Request(train=train))
        replies = self._dispatcher.ask(bodies, fewest=release.quorum, check=hear)
        if release.event is None:
            for silo in [silo for silo in replies if silo not in reported]:  # those that the journal had
                self._spending.report(silo, replies[silo].prepared.epsilon_spent)
            self._spending.miss(silo for silo in release.roster if silo not in replies)
        return replies

    def _sum(self, release: Release, present: Collection[str], start: bytes = b"") -> Sum:
        """The sum of one release. Each silo pays for it when it begins, if it costs anything."""
        self._spending.charge(release, present)
        return self._dispatcher.sum(release, self._run, present, start)

    def _computed(self, name: str, compute: Callable[[], Model]) -> Model:
        """A model that the aggregator computes once in the run's life."""
        return np.frombuffer(self._dispatcher.computed(name, lambda: compute().tobytes()), dtype="<f4")
