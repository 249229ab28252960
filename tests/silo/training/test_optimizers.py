"""Optimizers against recorded traces, and against each other where they must agree."""

import json
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from siloseal.federation.errors import RunError
from siloseal.federation.job.sections.optimizers import DpAdamBcConfig, DpAdamConfig, DpSgdConfig, OptimizerConfig
from siloseal.silo.training.noising import scale
from siloseal.silo.training.optimizers import PrivateOptimizer, build_optimizer

VECTORS = {
    entry["name"]: entry
    for entry in json.loads((Path(__file__).parents[2] / "vectors" / "dp_adam.json").read_text())["values"]
}
TRACE = VECTORS["dp_adam.trace"]
EVERY_OPTIMIZER = [
    DpAdamConfig(),
    DpAdamConfig(bias_correction="constant"),
    DpSgdConfig(momentum=0.9),
    DpAdamBcConfig(),
]


def clipped_sum(inputs: dict[str, Any]) -> Tensor:
    gradients = torch.tensor(inputs["grads"], dtype=torch.float64)
    norms = gradients.norm(dim=1, keepdim=True)
    return (gradients / (norms / inputs["C"]).clamp(min=1.0)).sum(0)


def trace_of(config: OptimizerConfig, *, noise_std: float) -> list[list[float]]:
    """Theta after each step on the recorded gradients and noise."""
    inputs = TRACE["inputs"]
    theta = nn.Parameter(torch.tensor(inputs["theta0"], dtype=torch.float64))
    optimizer = build_optimizer(config, [theta], noise_std=noise_std)
    thetas = []
    for noise in torch.tensor(inputs["noise_on_sum"], dtype=torch.float64):
        optimizer.step(scale(clipped_sum(inputs) + noise, inputs["L"]))
        thetas.append(theta.tolist())
    return thetas


def moments() -> dict[str, float]:
    inputs = TRACE["inputs"]
    return {"learning_rate": inputs["lr"], "first_decay": inputs["beta1"], "second_decay": inputs["beta2"]}


@pytest.mark.parametrize(
    ("bias_correction", "name"),
    [("standard", "theta_standard_bias_correction"), ("constant", "theta_slide_bias_correction")],
)
def test_dp_adam_follows_the_recorded_trace(bias_correction: Any, name: str) -> None:
    config = DpAdamConfig(**moments(), stabiliser=TRACE["inputs"]["eps"], bias_correction=bias_correction)
    for found, expected in zip(trace_of(config, noise_std=0.0), TRACE["expected"][name], strict=True):
        assert found == pytest.approx(expected, abs=TRACE["tolerance"]["abs"])


def test_dp_adam_bc_follows_the_recorded_trace_where_the_floor_decides() -> None:
    config = DpAdamBcConfig(**moments(), variance_floor=5e-8)
    sigma, clip_norm, batch = 0.5, TRACE["inputs"]["C"], TRACE["inputs"]["L"]
    found = trace_of(config, noise_std=sigma * clip_norm / batch)
    for step, expected in zip(found, TRACE["expected"]["theta_dp_adambc_sigma0.5_floor5e-8"], strict=True):
        assert step == pytest.approx(expected, abs=TRACE["tolerance"]["abs"])


def test_dp_adam_bc_without_noise_is_adam() -> None:
    adam, corrected = (
        trace_of(DpAdamConfig(**moments()), noise_std=0.0),
        trace_of(DpAdamBcConfig(**moments()), noise_std=0.0),
    )
    for found, expected in zip(corrected, adam, strict=True):
        assert found == pytest.approx(expected, abs=1e-7)


def test_the_default_floor_of_dp_adam_bc_keeps_steps_below_a_few_learning_rates() -> None:
    torch.manual_seed(0)
    theta = nn.Parameter(torch.zeros(1000))
    optimizer = build_optimizer(DpAdamBcConfig(learning_rate=0.01), [theta], noise_std=0.1)
    for _ in range(20):
        before = theta.detach().clone()
        optimizer.step(0.1 * torch.randn(1000))
        # A moment of pure noise has standard deviation at most 0.1 and the floor's root is 0.1: 6 sigma, false alarm
        # below 20,000 x 2e-9 = 4e-5 (and the seed is fixed).
        assert (theta - before).abs().max() < 0.06


@pytest.mark.parametrize("steps", [1, 2, 10, 100, 1000])
def test_the_constant_correction_steps_by_the_tabulated_multiple_of_the_standard_one(steps: int) -> None:
    entry = VECTORS["dp_adam.slide_vs_standard_step_ratio"]
    beta1, beta2 = entry["inputs"]["beta1"], entry["inputs"]["beta2"]
    last_steps = []
    for bias_correction in ("constant", "standard"):
        config = DpAdamConfig.model_validate(
            {"first_decay": beta1, "second_decay": beta2, "bias_correction": bias_correction, "stabiliser": 1e-30}
        )
        theta = nn.Parameter(torch.zeros(1, dtype=torch.float64))
        optimizer = build_optimizer(config, [theta], noise_std=0.0)
        for _ in range(steps):
            before = theta.item()
            optimizer.step(torch.ones(1, dtype=torch.float64))
        last_steps.append(theta.item() - before)
    assert last_steps[0] / last_steps[1] == pytest.approx(entry["expected"][str(steps)], rel=1e-6)


def test_the_constant_corrections_ratio_tends_to_its_limit() -> None:
    entry = VECTORS["dp_adam.slide_vs_standard_step_ratio"]
    limit = sqrt(1 - entry["inputs"]["beta2"]) / (1 - entry["inputs"]["beta1"])
    assert entry["expected"]["10000"] == pytest.approx(limit, rel=1e-4)


def test_dp_sgd_adds_up_its_momentum() -> None:
    theta = nn.Parameter(torch.zeros(1))
    optimizer = build_optimizer(DpSgdConfig(learning_rate=0.1, momentum=0.5), [theta], noise_std=0.0)
    for _ in range(3):
        optimizer.step(torch.ones(1))
    assert theta.item() == pytest.approx(-0.1 * (1 + 1.5 + 1.75))


@pytest.mark.parametrize("config", EVERY_OPTIMIZER, ids=lambda config: f"{config.kind}")
class TestEveryOptimizer:
    def test_goes_on_from_its_saved_state_as_if_nothing_had_happened(self, config: OptimizerConfig) -> None:
        gradients = torch.randn(6, 7, generator=torch.Generator().manual_seed(1))
        whole, whole_theta = self.fresh(config)
        halves, theta = self.fresh(config)
        for gradient in gradients:
            whole.step(gradient)
        for gradient in gradients[:3]:
            halves.step(gradient)
        resumed = build_optimizer(config, theta, noise_std=0.1)
        resumed.load_state(halves.state())
        for gradient in gradients[3:]:
            resumed.step(gradient)
        assert all(torch.equal(a, b) for a, b in zip(theta, whole_theta, strict=True))

    def test_refuses_the_state_of_another_network(self, config: OptimizerConfig) -> None:
        other = build_optimizer(config, [nn.Parameter(torch.zeros(3))], noise_std=0.1)
        with pytest.raises(RunError, match=r"\(3,\) .*\(7,\)"):
            self.fresh(config)[0].load_state(other.state())

    def fresh(self, config: OptimizerConfig) -> tuple[PrivateOptimizer, list[nn.Parameter]]:
        theta = [nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.ones(1))]
        return build_optimizer(config, theta, noise_std=0.1), theta
