"""Training at a silo: it prepares the kernel mean, or the model of one round, for the sum that follows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.errors import MessageError, WrongRound
from siloseal.federation.job.contributions import model_contribution, start_of
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase, requested_steps
from siloseal.federation.job.planning import SiloPlan
from siloseal.federation.job.releases import Content, Lengths, Release, Run, release_of
from siloseal.federation.job.sections.privacy import SiloLevel, UnitLevel
from siloseal.federation.job.sections.warm_start import KernelMeanStart
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.storage import Survives, write_atomically
from siloseal.federation.run_events.silo import RowsTrainedAlone, TrainingProgressed
from siloseal.federation.run_events.stream import Subscriber
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.models.building import BuiltLearner, build_learner, feature_map, shared_classes
from siloseal.models.kernel_mean import FeatureMap
from siloseal.models.model_files import GLOBAL_MODEL, model_file
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.units import Units
from siloseal.silo.ledger import Ledger
from siloseal.silo.order import require_later
from siloseal.silo.received import received_clip_norm, received_model
from siloseal.silo.state import Checkpoint
from siloseal.silo.training.device import CPU
from siloseal.silo.training.trainer import Privacy, PrivateTrainer, TrainingProgress
from siloseal.silo.work import Checkpoints

MOST_STEPS_LOST = 50
"""Number of steps that a crash may throw away where nobody is charged for them. No chunk of a training is longer."""


@dataclass
class _Built:
    """Networks in memory, with their trainer once it was needed."""

    learner: BuiltLearner
    trainer: PrivateTrainer | None = None


class SiloTraining:
    """One silo's training in one job."""

    def __init__(
        self,
        job: Job,
        silo: str,
        data: Examples,
        units: Units,
        plan: SiloPlan,
        folder: Path,
        *,
        lengths: Lengths,
        labels: Sequence[int],
        ledger: Ledger | None,
        randomness: Randomness,
        publish: Subscriber,
        device: torch.device = CPU,
        survives: Survives,
    ) -> None:
        self.silo, self.plan, self._job, self._data, self._folder = silo, plan, job, data, folder
        self._ledger, self._randomness, self._publish, self._survives = ledger, randomness, publish, survives
        self._device = device
        self._units, self._labels, self._lengths = units, labels, lengths
        self._classes = shared_classes(job, data.classes)
        self._built: _Built | None = None
        """Networks, built when they are first needed: most silos of a large simulation enrol and then wait."""
        self._initial = dict[str, Tensor]()
        """State of networks that were built at once, until a checkpoint takes its place."""

    @property
    def _learner(self) -> BuiltLearner:
        return self._networks().learner

    @property
    def _trainer(self) -> PrivateTrainer:
        built = self._networks()
        if built.trainer is None:
            built.trainer = self._new_trainer(built.learner)
        return built.trainer

    def _networks(self) -> _Built:
        if self._built is None:
            self._built = _Built(self._new_learner())
        return self._built

    def _new_learner(self) -> BuiltLearner:
        return build_learner(
            self._job,
            self._data.shape,
            self._data.classes,
            labels=self._labels,
            expected_batch=self.plan.sampling_rate * len(self._units),
            randomness=self._randomness,
        )

    def _new_trainer(self, learner: BuiltLearner) -> PrivateTrainer:
        trainer = PrivateTrainer(
            learner,
            self._units,
            sampling_rate=self.plan.sampling_rate,
            optimizer=self._job.optimizer,
            privacy=self._privacy(self.plan.step_noise),
            randomness=self._randomness,
            device=self._device,
        )
        if trainer.rows_alone:
            self._publish(RowsTrainedAlone(self.silo, trainer.rows_alone))
        return trainer

    def build(self) -> None:
        """Build the networks now: what cannot be trained is refused before the silo takes part."""
        self._initial = self._trainer.state()

    def describe(self, enrolled: pb.Enrolled) -> None:
        enrolled.shape.extend(self._data.shape)
        enrolled.classes = self._classes

    def prepare(self, request: pb.Request, checkpoints: Checkpoints, run: Run) -> pb.Prepared:
        match request.WhichOneof("body"):
            case "kernel_mean":
                return self._prepare_kernel_mean(request.number, checkpoints)
            case "train":
                return self._train(request.number, request.train, checkpoints)
        raise MessageError("the request asks for what a training job has not; both sides must run the same version")

    def release(self, at: Checkpoint) -> Release:
        return release_of(self._job, self._lengths, Phase(at.prepared), at.round, at.clip_norm)

    def vector(self, at: Checkpoint) -> NDArray[np.float64]:
        if self.release(at).content is Content.KERNEL_MEAN:
            return self._features().labelled_sum(self._data.inputs, self._data.labels).numpy()
        model = self._learner.vector().numpy().astype(np.float64)
        start = np.zeros_like(model) if at.start_model is None else at.start_model.numpy().astype(np.float64)
        return model_contribution(self._job, model, start, units=len(self._units), clip_norm=at.clip_norm)

    def finish(self, request: pb.Finish) -> None:
        self._learner.load(self._received(request.model))
        self._keep_model(GLOBAL_MODEL)

    def state(self) -> dict[str, Tensor]:
        return self._trainer.state()

    def load_state(self, tensors: dict[str, Tensor]) -> None:
        if tensors:
            self._trainer.load_state(tensors)
            self._initial = {}
        elif self._initial:
            self._trainer.load_state(self._initial)
        else:
            self._built = None

    def _save(self, checkpoint: Checkpoint, checkpoints: Checkpoints) -> None:
        """Save a checkpoint. From then on the silo resumes from the disk, and needs no copy of its initial state."""
        checkpoints.save(checkpoint)
        self._initial = {}

    def _prepare_kernel_mean(self, number: int, checkpoints: Checkpoints) -> pb.Prepared:
        """Prepare the kernel mean. It comes first in a job, and once: a second one would be a second release."""
        self._features()
        if checkpoints.at.prepared and checkpoints.at.number != number:
            raise WrongRound("the job has one kernel mean, before everything else")
        self._save(Checkpoint(number, Phase.WARM_START), checkpoints)
        return pb.Prepared()

    def _train(self, number: int, train: pb.Train, checkpoints: Checkpoints) -> pb.Prepared:
        """Train from the common start, or from the checkpoint where a crash interrupted just this request.

        Steps that the ledger is charged for have a checkpoint before the first charge. Others leave no trace until a
        reply does: a crash before the first checkpoint repeats them.
        """
        phase = _phase(train.phase)
        steps = requested_steps(self._job, self.silo, len(self._units), phase, train.round)
        clip_norm = received_clip_norm(self._job, train.clip_norm)
        charged = self._ledger is not None and isinstance(self._job.privacy, UnitLevel)
        begun = checkpoints.at
        if begun.number != number:
            require_later(phase, train.round, prepared=begun.prepared, prepared_round=begun.round)
            start = self._received(train.model)
            self._learner.load(start)
            kept = start if isinstance(self._job.privacy, SiloLevel) else None
            begun = Checkpoint(number, phase, train.round, start_of(train), clip_norm=clip_norm, start_model=kept)
            if charged:
                self._save(begun, checkpoints)
        elif (begun.prepared, begun.round, begun.clip_norm) != (phase, train.round, clip_norm):
            raise WrongRound(f"request {number} came again, with other training than at first")

        done = begun.steps_done

        def on_chunk(progress: TrainingProgress) -> None:
            nonlocal done
            chunk, done = progress.steps_done - done, progress.steps_done
            saved = checkpoints.at.steps_done if checkpoints.at.number == number else 0
            if charged or done == progress.steps or done + chunk - saved > MOST_STEPS_LOST:
                self._save(replace(begun, steps_done=done), checkpoints)
            self._randomness.begin(f"request {number}, step {done}")
            metrics = {name: float(value) for name, value in progress.metrics.items()}
            self._publish(TrainingProgressed(self.silo, phase, done, progress.steps, metrics))

        self._randomness.begin(f"request {number}, step {done}")
        outcome = self._trainer.train(steps, phase=phase, done=done, on_chunk=on_chunk)
        if checkpoints.at.number != number:
            self._save(begun, checkpoints)  # no step was taken
        if phase is Phase.PHASE_1:
            self._keep_model("trained.safetensors")
        spent = 0.0 if self._ledger is None else self._ledger.spent_roughly()
        return pb.Prepared(stopped_by_budget=outcome.stopped_by_budget, epsilon_spent=spent)

    def _features(self) -> FeatureMap:
        if not isinstance(self._job.warm_start, KernelMeanStart):
            raise WrongRound("the job has no kernel mean")
        return feature_map(self._job, self._job.warm_start, self._data.shape, self._data.classes)

    def _received(self, array: sums_pb2.Array) -> torch.Tensor:
        return received_model(array, length=self._lengths.model, largest=self._job.largest_weight)

    def _keep_model(self, name: str) -> None:
        job, network = self._job, self._learner.shared_model
        content = model_file(job.learner, self._data.shape, self._classes, network, columns=job.data.declared)
        write_atomically(self._folder / name, content, mode=0o600, survives=self._survives)

    def _privacy(self, step_noise: float | None) -> Privacy | None:
        if self._ledger is None or not isinstance(self._job.privacy, UnitLevel):
            return None
        # A silo that no round asks has no noise planned. No event has infinite noise, so it takes no step.
        return Privacy(self._job.privacy.clip_norm, step_noise or math.inf, self._ledger)


def _phase(name: str) -> Phase:
    try:
        return Phase(name)
    except ValueError as error:
        raise WrongRound(f"a training was asked for in {name!r}, which is no phase of a job") from error
