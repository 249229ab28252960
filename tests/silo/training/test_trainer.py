"""The trainer against what the algorithm says, on a learner small enough to compute by hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from siloseal.federation.errors import BudgetExceeded, DataError, RunError, UnclippableModule, UncountableEvent
from siloseal.federation.job.sections.optimizers import DpAdamConfig, DpSgdConfig
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import Event, SampledGaussianSteps
from siloseal.federation.randomness import SeededRandomness
from siloseal.models.checkpoints import State
from siloseal.silo.ledger import Budget, Ledger
from siloseal.silo.training.noising import add_noise
from siloseal.silo.training.trainer import Privacy, PrivateTrainer, TrainingProgress

WIDTH = 50


@dataclass(frozen=True)
class Points:
    """Units whose loss is linear, so that every unit's gradient is the unit itself."""

    inputs: Tensor

    @property
    def labels(self) -> Tensor:
        return torch.zeros(len(self.inputs), dtype=torch.int64)

    def __len__(self) -> int:
        return len(self.inputs)

    def select(self, indices: Tensor) -> "Points":
        return Points(self.inputs[indices])

    def made_up(self, count: int) -> "Points":
        return Points(torch.randn(count, self.inputs.shape[1]))


class LinearLearner:
    """Loss <w, x>, whose gradient is x."""

    def __init__(self) -> None:
        self.private_module: nn.Module = nn.Linear(WIDTH, 1, bias=False)
        nn.init.zeros_(self.private_module.weight)
        self.public_steps = 0

    @property
    def shared_model(self) -> nn.Module:
        return self.private_module

    @property
    def weights(self) -> Tensor:
        return next(self.private_module.parameters()).detach().flatten()

    def row_losses(self, rows: Points) -> Tensor:
        losses: Tensor = self.private_module(rows.inputs).squeeze(1)
        return losses

    def public_step(self) -> None:
        self.public_steps += 1

    def public_metrics(self) -> Mapping[str, float]:
        return {"public_steps": float(self.public_steps)}

    def vector(self) -> Tensor:
        return self.weights.clone()

    def load(self, vector: Tensor) -> None:
        raise NotImplementedError

    def state(self) -> State:
        return dict(self.private_module.state_dict())

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        self.private_module.load_state_dict(dict(state))


@dataclass
class StepBudget:
    """A ledger that counts steps."""

    steps: int
    phases: list[str] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)

    def charge(self, event: Event, *, phase: str) -> None:
        assert isinstance(event, SampledGaussianSteps)
        if event.steps > self.steps:
            self.refused.append(event.steps)
            raise BudgetExceeded("no steps left")
        self.steps -= event.steps
        self.phases.append(phase)


def trainer_of(
    learner: LinearLearner,
    rows: Tensor,
    *,
    rate: float = 1.0,
    privacy: Privacy | None = None,
    seed: int = 1,
    chunk: int = 50,
) -> PrivateTrainer:
    return PrivateTrainer(
        learner,
        Points(rows),
        sampling_rate=rate,
        optimizer=DpSgdConfig(learning_rate=1.0),
        privacy=privacy,
        randomness=SeededRandomness(seed),
        chunk_steps=chunk,
    )


def test_a_step_is_the_clipped_sum_plus_noise_over_the_expected_batch() -> None:
    learner, rows = LinearLearner(), torch.zeros(8, WIDTH)
    rows[:, 0], rows[:4, 0] = 0.5, 100.0  # four units beyond the clip norm of 2, four within
    privacy = Privacy(clip_norm=2.0, noise_multiplier=1e-6, ledger=StepBudget(1))
    trainer_of(learner, rows, privacy=privacy).train(1, phase="phase 1")
    assert learner.weights[0].item() == pytest.approx(-(4 * 2.0 + 4 * 0.5) / 8, abs=1e-5)


def test_the_divisor_is_the_expected_batch_and_not_the_drawn_one() -> None:
    rows = torch.ones(40, WIDTH)
    drawn = []
    for seed in range(5):
        learner = LinearLearner()
        trainer_of(learner, rows, rate=0.25, seed=seed).train(1, phase="public")
        drawn.append(-learner.weights[0].item() * 10)  # expected batch 10: the weight counts the drawn units
    assert drawn == pytest.approx([round(count) for count in drawn], abs=1e-4)
    assert len(set(map(round, drawn))) > 1


def test_a_state_stays_as_it_was_while_training_goes_on() -> None:
    """Even of a learner that gives its parameters themselves."""
    trainer = trainer_of(LinearLearner(), torch.ones(8, WIDTH))
    state = trainer.state()
    trainer.train(1, phase="public")
    assert not state["learner.weight"].any()
    assert trainer.state()["learner.weight"].all()


def test_an_empty_poisson_batch_takes_a_noisy_step_all_the_same() -> None:
    learner, ledger = LinearLearner(), StepBudget(1)
    privacy = Privacy(clip_norm=1.0, noise_multiplier=1.0, ledger=ledger)
    trainer = trainer_of(learner, torch.ones(10, WIDTH), rate=1e-9, privacy=privacy)
    outcome = trainer.train(1, phase="phase 1")
    assert outcome.steps_done == 1
    assert learner.public_steps == 1
    assert ledger.steps == 0
    assert (learner.weights != 0).all()


def test_the_noise_has_the_promised_variance() -> None:
    count, noise_std = 400_000, 0.7
    noise = add_noise(torch.zeros(count), noise_std=noise_std, randomness=SeededRandomness(5))
    # The sample variance of n normals has relative deviation sqrt(2 / n), the mean 1 / sqrt(n): 5 of them, so a false
    # alarm in 1.2e-6 of all seeds (two bounds of 5.7e-7).
    assert noise.var().item() == pytest.approx(noise_std**2, rel=5 * (2 / count) ** 0.5)
    assert abs(noise.mean().item()) < 5 * noise_std / count**0.5


def test_the_noise_in_the_weights_is_noise_multiplier_times_clip_norm_over_the_expected_batch() -> None:
    learner, steps = LinearLearner(), 400
    privacy = Privacy(clip_norm=3.0, noise_multiplier=2.0, ledger=StepBudget(steps))
    trainer_of(learner, torch.zeros(12, WIDTH), privacy=privacy).train(steps, phase="phase 1")
    variance = steps * (2.0 * 3.0 / 12) ** 2  # gradients are zero, so each weight is a random walk of 400 steps
    statistic = learner.weights.square().sum().item() / variance
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], WIDTH)  # false alarm: 1e-6
    assert low < statistic < high
    assert low > 50 / 3.0**2, "without the clip norm, the statistic would be a ninth and be seen"


def test_the_same_seed_gives_the_same_weights_and_another_seed_others() -> None:
    results = []
    for seed in (7, 7, 8):
        learner = LinearLearner()
        privacy = Privacy(clip_norm=1.0, noise_multiplier=1.0, ledger=StepBudget(5))
        trainer_of(learner, torch.ones(10, WIDTH), rate=0.5, privacy=privacy, seed=seed).train(5, phase="phase 1")
        results.append(learner.weights)
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_a_budget_that_runs_out_in_the_middle_is_spent_to_the_last_step_and_not_beyond() -> None:
    learner, ledger = LinearLearner(), StepBudget(73)
    seen: list[TrainingProgress] = []
    privacy = Privacy(clip_norm=1.0, noise_multiplier=1.0, ledger=ledger)
    trainer = trainer_of(learner, torch.ones(10, WIDTH), privacy=privacy, chunk=20)
    outcome = trainer.train(100, phase="phase 1", on_chunk=seen.append)
    assert outcome.stopped_by_budget
    assert outcome.steps_done == learner.public_steps == 73
    assert [progress.steps_done for progress in seen] == [20, 40, 60, 70, 72, 73]
    assert set(ledger.phases) == {"phase 1"}


def test_a_spent_budget_allows_no_step_at_all() -> None:
    learner = LinearLearner()
    privacy = Privacy(clip_norm=1.0, noise_multiplier=1.0, ledger=StepBudget(0))
    outcome = trainer_of(learner, torch.ones(10, WIDTH), privacy=privacy).train(10, phase="phase 1")
    assert outcome.stopped_by_budget
    assert outcome.steps_done == 0
    assert not learner.weights.any()


def test_the_real_ledger_stops_training_within_its_budget(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.jsonl", silo="north", budget=Budget(epsilon=2.0, delta=1e-5)) as ledger:
        privacy = Privacy(clip_norm=1.0, noise_multiplier=1.0, ledger=ledger)
        outcome = trainer_of(LinearLearner(), torch.ones(100, WIDTH), rate=0.05, privacy=privacy).train(
            2000, phase="phase 1"
        )
        assert outcome.stopped_by_budget
        spent = [SampledGaussianSteps(0.05, 1.0, outcome.steps_done + extra) for extra in (0, 1)]
        assert ledger.epsilon == pytest.approx(epsilon_of(spent[:1], 1e-5))
        assert ledger.epsilon <= 2.0 < epsilon_of(spent[1:], 1e-5)


def test_a_chunk_is_charged_before_its_first_step() -> None:
    learner = LinearLearner()

    class Watching(StepBudget):
        def charge(self, event: Event, *, phase: str) -> None:
            super().charge(event, phase=phase)
            steps_at_charge.append(learner.public_steps)

    steps_at_charge: list[int] = []
    privacy = Privacy(clip_norm=1.0, noise_multiplier=1.0, ledger=Watching(30))
    trainer_of(learner, torch.ones(10, WIDTH), privacy=privacy, chunk=10).train(30, phase="phase 1")
    assert steps_at_charge == [0, 10, 20]


def test_training_goes_on_from_a_checkpoint() -> None:
    rows, config = torch.ones(10, WIDTH), DpAdamConfig(learning_rate=0.1)
    whole, halves, resumed = LinearLearner(), LinearLearner(), LinearLearner()
    trainers = [
        PrivateTrainer(
            learner, Points(rows), sampling_rate=1.0, optimizer=config, privacy=None, randomness=SeededRandomness(0)
        )
        for learner in (whole, halves, resumed)
    ]
    trainers[0].train(6, phase="public")
    trainers[1].train(3, phase="public")
    trainers[2].load_state(trainers[1].state())
    trainers[2].train(3, phase="public")
    assert torch.equal(resumed.weights, whole.weights)


def test_divergence_is_an_error_and_not_a_model() -> None:
    with pytest.raises(RunError, match="NaN"):
        trainer_of(LinearLearner(), torch.full((4, WIDTH), float("inf"))).train(1, phase="public")


@pytest.mark.parametrize(("clip_norm", "noise_multiplier"), [(1.0, 0.0), (0.0, 1.0), (-1.0, 1.0)])
def test_privacy_without_clip_or_noise_is_refused(clip_norm: float, noise_multiplier: float) -> None:
    with pytest.raises(UncountableEvent, match="privacy=None"):
        Privacy(clip_norm=clip_norm, noise_multiplier=noise_multiplier, ledger=StepBudget(1))


@pytest.mark.parametrize(("count", "rate"), [(0, 0.5), (10, 0.0), (10, 1.5)])
def test_a_sampling_rate_that_is_no_rate_is_refused(count: int, rate: float) -> None:
    with pytest.raises(DataError, match=f"^{count} units .* {rate:g}, "):
        trainer_of(LinearLearner(), torch.ones(count, WIDTH), rate=rate)


def test_a_network_that_cannot_be_clipped_is_refused_before_anything_is_charged() -> None:
    learner, ledger = LinearLearner(), StepBudget(10)
    learner.private_module = nn.Sequential(nn.Linear(WIDTH, 1), nn.BatchNorm1d(1))
    with pytest.raises(UnclippableModule, match="BatchNorm1d"):
        trainer_of(learner, torch.ones(10, WIDTH), privacy=Privacy(1.0, 1.0, ledger))
    assert ledger.steps == 10


def test_more_noise_than_its_grid_can_carry_is_refused_before_anything_is_charged() -> None:
    learner, ledger = LinearLearner(), StepBudget(10)
    with pytest.raises(UncountableEvent):
        trainer_of(learner, torch.ones(10, WIDTH), privacy=Privacy(1.0, 2.0**24, ledger))
    assert ledger.steps == 10


def test_the_clipped_sum_itself_stays_as_it_was() -> None:
    for dtype in (torch.float32, torch.float64):
        total = torch.ones(100, dtype=dtype)
        noisy = add_noise(total, noise_std=1.0, randomness=SeededRandomness(1))
        assert (total == 1).all()
        assert noisy.dtype == torch.float32
        assert not (noisy == 1).any()
