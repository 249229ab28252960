"""What every learner promises: the trainer, the sums and the checkpoints rely on nothing else."""

from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch import Tensor

from siloseal.federation.errors import MessageError, RunError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.learners import MEASURED_AS
from siloseal.federation.randomness import SeededRandomness
from siloseal.models.building import build_learner, initial_model, load_model
from siloseal.models.learner import ExampleLearner, TaskLearner
from siloseal.models.meta.tasks import Task, task_of
from siloseal.models.model_files import model_file, read_model
from siloseal.models.process_randomness import RandomStates
from siloseal.models.user_code.places import look_in
from siloseal.models.vectors import flatten
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.units import units_of
from siloseal.silo.promises.checking import check_promises
from siloseal.silo.promises.trial import Trial, trial_data
from siloseal.silo.training.draws import may_draw
from siloseal.silo.training.gradients import unit_gradients
from siloseal.silo.training.trainer import Privacy, PrivateTrainer
from tests.conftest import SMALL_JOB

look_in(Path(__file__).parent)  # where the learner of a user's own lies
CLASSES = 6
TASKS = {"filters": 4, "ways": 3, "shots": 1, "queries": 2}
LEARNERS: dict[str, dict[str, Any]] = {
    "gan": {"kind": "gan", "latent": 4, "instance_noise": 0, "most_discriminator_steps": 1},
    "protonet": {"kind": "protonet", **TASKS},
    "protonet on wavelets": {"kind": "protonet", "network": "wavelets", **TASKS},
    "reptile": {"kind": "reptile", "inner_steps": 2, **TASKS},
    "meta_lstm": {"kind": "meta_lstm", "inner_steps": 2, "hidden": 3, **TASKS},
    "embedding": {"kind": "embedding", "filters": 4, "average_decay": 0.9},
    "embedding on convolved wavelets": {"kind": "embedding", "network": "wavelets_conv", "filters": 4},
    "embedding on wavelets": {"kind": "embedding", "network": "wavelets"},
    "logistic classifier": {"kind": "classifier", "model": "logistic"},
    "averaged classifier": {"kind": "classifier", "model": "mlp", "average_decay": 0.9},
    "own learner": {"kind": "python", "target": "own_learner:Halves", "options": {"target": 0.5}},
}


def job_of(name: str) -> Job:
    few_shot = MEASURED_AS[LEARNERS[name]["kind"]] == "few_shot"
    sections = {
        "learner": LEARNERS[name],
        "privacy": {"kind": "none"},
        "evaluation": {},
        "data": {"kind": "strokes"} if few_shot else {"kind": "digits"},
    }
    return Job.model_validate({**SMALL_JOB, **sections})


def data(seed: int = 0) -> Examples:
    """54 images of six classes: three disjoint tasks of 3 x 3, and as many again."""
    images = torch.rand(54, 1, 12, 12, generator=torch.Generator().manual_seed(seed))
    return Examples(images, torch.arange(54) % CLASSES, CLASSES)


class Bench:
    """A learner with its units."""

    def __init__(self, name: str, *, seed: int = 0) -> None:
        self.name, self.job, self.images = name, job_of(name), data(seed)
        self.learner = build_learner(
            self.job,
            self.images.shape,
            CLASSES,
            labels=range(CLASSES),
            expected_batch=4,
            randomness=SeededRandomness(1),
        )
        self.units = units_of(self.job, self.images, SeededRandomness(2))

    def gradient_sum(self, sample: Tensor, clip_norm: float | None) -> Tensor:
        return unit_gradients(self.learner, self.units).sum(sample, clip_norm=clip_norm)

    def trainer(self, privacy: Privacy | None = None) -> PrivateTrainer:
        return PrivateTrainer(
            self.learner,
            self.units,
            sampling_rate=0.5,
            optimizer=self.job.optimizer,
            privacy=privacy,
            randomness=SeededRandomness(3),
        )


class Free:
    def charge(self, event: object, *, phase: str) -> None: ...


@pytest.fixture(params=LEARNERS, ids=lambda name: name.replace(" ", "_"))
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(request.param)


class TestEveryLearner:
    def test_starts_from_the_jobs_seed_alone(self, bench: Bench) -> None:
        model = initial_model(bench.job, bench.images.shape, CLASSES)
        assert torch.equal(bench.learner.vector(), torch.from_numpy(model))

    def test_takes_over_a_shared_vector_and_gives_it_back(self, bench: Bench) -> None:
        bench.trainer().train(2, phase="public")
        vector = bench.learner.vector() + 0.5
        bench.learner.load(vector)
        assert torch.equal(bench.learner.vector(), vector)
        assert torch.equal(flatten([bench.learner.shared_model]), vector)

    @pytest.mark.parametrize("spoil", [lambda v: v[:-1], lambda v: v * float("nan"), lambda v: v * float("inf")])
    def test_refuses_another_length_and_numbers_that_are_none(self, bench: Bench, spoil: Any) -> None:
        before = bench.learner.vector()
        with pytest.raises(MessageError):
            bench.learner.load(spoil(before + 1.0))
        assert torch.equal(bench.learner.vector(), before)

    def test_keeps_all_that_training_needs_in_its_state(self, bench: Bench) -> None:
        bench.trainer().train(2, phase="public")
        stored = safetensors.torch.load(safetensors.torch.save(bench.learner.state()))
        other = Bench(bench.name)
        other.learner.load_state(stored)
        for one in (bench, other):
            one.units = units_of(one.job, one.images, SeededRandomness(2))
            one.trainer().train(2, phase="public")
        assert torch.equal(bench.learner.vector(), other.learner.vector())

    def test_draws_nothing_from_torch_unless_it_may(self, bench: Bench) -> None:
        """Those that may run alone in a private step; silos with one of our own learners train at the same time."""
        own = LEARNERS[bench.name]["kind"] == "python"
        before = RandomStates.now()
        bench.gradient_sum(torch.arange(2), None)
        assert before.equals(RandomStates.now())
        assert may_draw(bench.learner) == own

    def test_refuses_the_state_of_another_job(self, bench: Bench) -> None:
        state = bench.learner.state()
        state["stranger"] = torch.zeros(3)
        with pytest.raises(RunError, match="stranger"):
            bench.learner.load_state(state)

    def test_learns_in_its_private_module_and_shares_what_followed(self, bench: Bench) -> None:
        before, own = bench.learner.vector(), flatten([bench.learner.private_module])
        bench.trainer(Privacy(1.0, 1.0, Free())).train(3, phase="private")
        assert not torch.equal(flatten([bench.learner.private_module]), own)
        assert not torch.equal(bench.learner.vector(), before)

    def test_a_unit_moves_a_clipped_sum_by_at_most_the_clip_norm(self, bench: Bench) -> None:
        clip_norm = 0.03
        everyone = torch.arange(len(bench.units))
        totals = []
        for sample in (everyone, *(torch.cat([everyone[:n], everyone[n + 1 :]]) for n in everyone.tolist()[:4])):
            fresh = Bench(bench.name)
            if isinstance(fresh.learner, TaskLearner):  # the roles within a task are drawn anew: leave that out here
                fresh.units.select = _with_still_roles(fresh.units)  # type: ignore[method-assign, union-attr]
            totals.append(fresh.gradient_sum(sample, clip_norm))
        moved = [float((totals[0] - other).norm()) for other in totals[1:]]
        assert max(moved) <= clip_norm * (1 + 1e-4)
        assert max(moved) > 0.9 * clip_norm  # or the bound would hold for another reason

    def test_without_units_only_what_is_public_remains(self, bench: Bench) -> None:
        nobody = torch.arange(0)
        one, other = (Bench(bench.name, seed=seed).gradient_sum(nobody, 1.0) for seed in (0, 7))
        assert torch.equal(one, other)

    def test_shows_nothing_that_private_units_entered_without_noise(self, bench: Bench) -> None:
        one, other = (Bench(bench.name, seed=seed) for seed in (0, 7))
        for each in (one, other):
            each.gradient_sum(torch.arange(3), 1.0)
        assert one.learner.public_metrics() == other.learner.public_metrics()

    def test_its_model_file_says_what_it_holds(self, bench: Bench, tmp_path: Any) -> None:
        bench.trainer().train(1, phase="public")
        path = tmp_path / "model.safetensors"
        content = model_file(bench.job.learner, bench.images.shape, CLASSES, bench.learner.shared_model)
        path.write_bytes(content)
        found = read_model(path, code=bench.job.learner.target_of_code)
        assert torch.equal(flatten([found.network]), bench.learner.vector())
        again = load_model(bench.job, bench.images.shape, CLASSES, bench.learner.vector().numpy())
        assert model_file(bench.job.learner, bench.images.shape, CLASSES, again) == content


@pytest.mark.parametrize("name", [name for name in LEARNERS if job_of(name).learner.units == "examples"])
def test_a_built_in_learner_keeps_what_a_users_own_is_asked_for(name: str) -> None:
    """All but few-shot learners of tasks, whose units are no rows."""
    job, shape = job_of(name), (1, 12, 12)

    def make() -> ExampleLearner:
        randomness = SeededRandomness(1)
        learner = build_learner(job, shape, CLASSES, labels=range(CLASSES), expected_batch=4, randomness=randomness)
        assert isinstance(learner, ExampleLearner)
        return learner

    data, other = (trial_data(shape, CLASSES, seed=seed) for seed in (1, 2))
    found = check_promises(Trial(make, data, other))
    assert [(each.promise, each.found) for each in found if each.outcome == "broken"] == []


def _with_still_roles(units: Any) -> Any:
    """Every task with its images in the order of their hashes."""
    images, members, shots = units._data.inputs, units.members, units._config.shots

    def select(indices: Tensor) -> list[Task]:
        found = [members[number] for number in indices.tolist() if members[number]]
        return [task_of([images[torch.from_numpy(one)] for one in classes], shots=shots) for classes in found]

    return select
