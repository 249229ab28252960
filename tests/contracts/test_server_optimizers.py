"""What every server optimizer promises: the journal's replay, the silos' checks and the accounting rely on it."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from siloseal.aggregator.server_optimizers import ServerOptimizer, build_server_optimizer
from siloseal.federation.errors import RunError
from siloseal.federation.job.job import Job
from siloseal.federation.job.planning import plan_silo
from siloseal.federation.job.releases import Lengths, releases
from siloseal.federation.job.sections.server_optimizers import ServerOptimizerConfig
from siloseal.federation.run_events.coordination import Model

SERVERS: dict[str, dict[str, Any]] = {
    "average": {"kind": "average"},
    "half way to the average": {"kind": "average", "rate": 0.5},
    "momentum": {"kind": "momentum"},
    "adam": {"kind": "adam"},
    "yogi": {"kind": "yogi"},
}
LARGEST = 64.0
CONFIG: TypeAdapter[ServerOptimizerConfig] = TypeAdapter(ServerOptimizerConfig)

SILO_LEVEL = {"kind": "silo_level", "epsilon": 8, "delta": 1e-4, "clip_norm": 1.0}
SECAGG = {"kind": "secagg"}
SCHEDULES = [
    {"kind": "two_phase", "batch": 48, "local_steps": 3, "tuning_rounds": 2, "tuning_sum": SECAGG},
    {"kind": "fedavg", "batch": 48, "rounds": 3},
]


@pytest.fixture(params=SERVERS, ids=lambda name: name.replace(" ", "_"))
def server(request: pytest.FixtureRequest) -> dict[str, Any]:
    return SERVERS[request.param]


def build(server: dict[str, Any]) -> ServerOptimizer:
    return build_server_optimizer(CONFIG.validate_python(server), largest_weight=LARGEST)


def models(count: int, *, seed: int = 0) -> Iterator[Model]:
    """Models of weights that span several powers of two."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        yield (generator.normal(size=200) * 2.0 ** generator.integers(-12, 3, 200)).astype("<f4")


def run(server: dict[str, Any], averages: list[Model]) -> list[Model]:
    """The global models after each of these averages."""
    optimizer, model, found = build(server), np.zeros(200, "<f4"), list[Model]()
    for average in averages:
        model = optimizer.step(model, average)
        found.append(model)
    return found


class TestEveryServerOptimizer:
    def test_gives_a_model_as_silos_take_it(self, server: dict[str, Any]) -> None:
        model, average = models(2)
        moved = build(server).step(model, average)
        assert moved.dtype == np.dtype("<f4")
        assert moved.shape == model.shape
        assert np.abs(moved).max() <= LARGEST

    def test_leaves_the_model_where_its_first_update_is_zero(self, server: dict[str, Any]) -> None:
        (model,) = models(1)
        assert build(server).step(model, model.copy()).tobytes() == model.tobytes()

    def test_changes_neither_what_it_was_given_nor_what_it_gave(self, server: dict[str, Any]) -> None:
        optimizer = build(server)
        given = list(models(3))
        kept = [each.copy() for each in given]
        first = optimizer.step(given[0], given[1])
        found = first.copy()
        optimizer.step(first, given[2])
        assert all(np.array_equal(one, other) for one, other in zip([*given, first], [*kept, found], strict=True))

    def test_gives_the_same_models_again_for_the_same_averages(self, server: dict[str, Any]) -> None:
        averages = list(models(5))
        assert [model.tobytes() for model in run(server, averages)] == [
            model.tobytes() for model in run(server, averages)
        ]

    def test_goes_towards_the_average_at_first(self, server: dict[str, Any]) -> None:
        model, average = models(2)
        moved = build(server).step(model, average)
        assert (np.sign(moved - model) == np.sign(average - model)).mean() > 0.99  # else the step is below rounding

    @pytest.mark.parametrize("value", [1e5, -1e5, 3e38, np.inf, -np.inf, np.nan])
    def test_refuses_to_make_a_model_that_silos_would_refuse(self, server: dict[str, Any], value: float) -> None:
        """One weight of a broken average; the adaptive ones are near the limit, because they bound their steps."""
        adaptive = server["kind"] in ("adam", "yogi")
        model = np.full(4, np.copysign(LARGEST - 1e-3, value) if adaptive else 0.0, dtype="<f4")
        average = np.array([0, 0, value, 0], dtype="<f4")
        with pytest.raises(RunError):
            build(server).step(model, average)

    @pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: f"{schedule['kind']}")
    @pytest.mark.parametrize("mechanism", ["ddg", "skellam", "gaussian_local"])
    def test_is_post_processing_which_no_plan_and_no_release_knows(
        self, server: dict[str, Any], schedule: dict[str, Any], mechanism: str, small_job: Callable[..., Job]
    ) -> None:
        """Under noise that the silos share as under noise of their own."""
        plain, other = (
            small_job(
                privacy=SILO_LEVEL,
                mechanism={"kind": mechanism},
                secure_sum=SECAGG,
                schedule={**schedule, "server": each},
            )
            for each in ({"kind": "average"}, server)
        )
        lengths = Lengths(0, 50)
        assert list(releases(other, lengths)) == list(releases(plain, lengths))
        assert plan_silo(other, "north", 400, lengths) == plan_silo(plain, "north", 400, lengths)


def test_the_average_at_rate_1_is_the_average_to_the_bit() -> None:
    model, average = models(2)
    assert build({"kind": "average"}).step(model, average).tobytes() == average.tobytes()
    assert (model + (average - model)).tobytes() != average.tobytes()  # which is why it is not computed so
