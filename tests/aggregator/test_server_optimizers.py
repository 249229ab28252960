"""Server optimizers in numbers computed by hand, and in whole runs that are interrupted and paid for."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from siloseal.aggregator.server_optimizers import build_server_optimizer
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.sections.server_optimizers import ServerOptimizerConfig
from siloseal.federation.run_events.coordination import Model, ModelReleased
from siloseal.federation.run_events.stream import RunEvent, unheard
from siloseal.federation.transport.engine import Accept
from siloseal.federation.transport.wire import messages_pb2 as pb
from tests.aggregator.real_silos import LossyEngine, train, training_silos

ADAPTIVE = {"rate": 0.1, "first_decay": 0.9, "second_decay": 0.99, "stabiliser": 0.001}
UPDATES = (1.0, -0.05)
RECORDED = {
    # From x = 0, m = 0, v = 1e-6, in 28 decimal digits:
    #   m = 0.9 m + 0.1 u                 0.1,          then 0.085
    #   v = 0.99 v + 0.01 u^2             0.01000099,   then 0.0099259801
    #   x = x + 0.1 m / (sqrt(v) + 0.001)
    "adam": (0.0990050489, 0.1834735619),
    #   v = v - 0.01 u^2 sign(v - u^2)    0.010001,     then 0.009976
    "yogi": (0.0990049999, 0.1832635851),
}
LEARNER = {"kind": "gan", "latent": 4}
FEDAVG = {"kind": "fedavg", "rounds": 3, "batch": 400}
ADAM = {"kind": "adam", "rate": 0.02}


def build(config: dict[str, Any]) -> Any:
    parsed: Any = TypeAdapter(ServerOptimizerConfig).validate_python(config)
    return build_server_optimizer(parsed, largest_weight=64.0)


def after(config: dict[str, Any], updates: tuple[float, ...]) -> list[float]:
    """One weight, from 0, after each of these updates."""
    optimizer, model, found = build(config), np.zeros(1, "<f4"), list[float]()
    for update in updates:
        model = optimizer.step(model, model + np.float32(update))
        found.append(float(model[0]))
    return found


@pytest.mark.parametrize("kind", RECORDED)
def test_two_steps_are_those_of_the_paper(kind: str) -> None:
    assert after({"kind": kind, **ADAPTIVE}, UPDATES) == pytest.approx(RECORDED[kind], abs=2e-8)


def test_momentum_adds_up_its_velocity_and_loses_it_without_updates() -> None:
    found = after({"kind": "momentum", "rate": 0.5, "momentum": 0.5}, (1.0, 1.0, 0.0, 0.0))
    assert np.diff([0.0, *found]) == pytest.approx([0.5, 0.75, 0.375, 0.1875])


def test_an_average_at_a_rate_goes_that_part_of_the_way() -> None:
    assert after({"kind": "average", "rate": 0.25}, (1.0, 2.0)) == pytest.approx([0.25, 0.75])


def test_yogi_forgets_large_updates_more_slowly_than_adam() -> None:
    """Its second moment falls by the small squares that follow, and not by a part of itself."""
    adam, yogi = (after({"kind": kind, **ADAPTIVE}, (10.0, *[0.01] * 200)) for kind in ("adam", "yogi"))
    assert np.abs(np.diff(yogi))[100:].max() < np.abs(np.diff(adam))[100:].max() / 2


@pytest.mark.parametrize(
    "server",
    [{"kind": "average", "rate": 0}, {"kind": "average", "rate": 1.5}, {"kind": "adam", "stabiliser": 0},
     {"kind": "yogi", "second_decay": 1}, {"kind": "momentum", "first_decay": 0.9}, {"kind": "sgd"}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("schedule", [FEDAVG, {"kind": "two_phase", "batch": 48, "local_steps": 3}])
def test_a_job_that_names_none_of_them_or_a_number_that_is_none_is_refused(
    small_job: Callable[..., Job], server: dict[str, Any], schedule: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError, match="schedule"):
        small_job(schedule={**schedule, "server": server})


class Killed(BaseException):
    """No error that anything handles."""


class DyingEngine(LossyEngine):
    """An engine that dies when a round's training is asked for."""

    def __init__(self, silos: Mapping[str, Any], *, dies_in_round: int) -> None:
        super().__init__(silos)
        self._dies_in_round = dies_in_round

    def ask(self, requests: Mapping[str, bytes], *, deadline_seconds: float, fewest: int, largest: int,
            accept: Accept) -> None:  # fmt: skip
        if any(pb.Request.FromString(data).train.round == self._dies_in_round for data in requests.values()):
            raise Killed
        super().ask(requests, deadline_seconds=deadline_seconds, fewest=fewest, largest=largest, accept=accept)


def released(job: Job, folder: Path, *, dies_in_round: int = -1) -> dict[str, Model]:
    """The models of a run by stage; of one that dies in a round, after another process has taken it up again."""
    models = dict[str, Model]()

    def hear(event: RunEvent) -> None:
        if isinstance(event, ModelReleased):
            models[event.stage] = event.model

    if dies_in_round >= 0:
        with training_silos(job, folder) as silos, pytest.raises(Killed):
            train(job, DyingEngine(silos, dies_in_round=dies_in_round), folder, unheard)
    with training_silos(job, folder) as silos:
        train(job, LossyEngine(silos), folder, hear)
    return models


@pytest.mark.parametrize("kind", ["momentum", "adam", "yogi"])
def test_a_run_that_dies_between_rounds_ends_with_the_same_models(
    small_job: Callable[..., Job], tmp_path: Path, kind: str
) -> None:
    """The moments are in no file: they follow from the journal's replies."""
    job = small_job(learner=LEARNER, privacy={"kind": "none"}, schedule={**FEDAVG, "server": {"kind": kind}})
    undisturbed = released(job, tmp_path / "one")
    resumed = released(job, tmp_path / "two", dies_in_round=3)
    assert list(undisturbed) == ["warm_start", "round_1", "round_2", "round_3"]
    assert {stage: model.tobytes() for stage, model in resumed.items()} == {
        stage: model.tobytes() for stage, model in undisturbed.items()
    }


def test_moments_last_from_round_to_round(small_job: Callable[..., Job], tmp_path: Path) -> None:
    """From the same start the silos find the same averages; with momentum the second round goes on with the first's."""
    momentum = {"kind": "momentum"}
    plain, moved = (
        released(
            small_job(learner=LEARNER, privacy={"kind": "none"}, schedule={**FEDAVG, "rounds": 2, "server": server}),
            tmp_path / server["kind"],
        )
        for server in ({"kind": "average"}, momentum)
    )
    optimizer = build(momentum)
    first = optimizer.step(plain["warm_start"], plain["round_1"])
    assert np.array_equal(moved["round_1"], first)
    assert np.array_equal(moved["round_1"], plain["round_1"])
    assert np.array_equal(moved["round_2"], optimizer.step(first, plain["round_2"]))


def test_the_one_aggregation_of_phase_1_is_the_plain_average_and_tuning_is_the_servers(
    small_job: Callable[..., Job], tmp_path: Path
) -> None:
    schedule = {"kind": "two_phase", "batch": 48, "local_steps": 3, "tuning_rounds": 1, "tuning_steps": 2}
    plain, moved = (
        released(small_job(learner=LEARNER, schedule={**schedule, "server": server}), tmp_path / server["kind"])
        for server in ({"kind": "average"}, ADAM)
    )
    assert np.array_equal(plain[Phase.PHASE_1], moved[Phase.PHASE_1])
    update = plain["round_1"] - plain[Phase.PHASE_1]
    expected = build(ADAM).step(plain[Phase.PHASE_1], plain["round_1"])
    assert update.any()
    assert np.array_equal(moved["round_1"], expected)


def test_every_ledger_holds_the_same_charges_whatever_the_server_does_with_the_noised_sum(
    small_job: Callable[..., Job], tmp_path: Path
) -> None:
    charged = list[dict[str, list[object]]]()
    for server in ({"kind": "average"}, ADAM):
        job = small_job(
            learner=LEARNER,
            privacy={"kind": "silo_level", "epsilon": 8, "delta": 1e-4, "clip_norm": 0.5},
            mechanism={"kind": "ddg"},
            secure_sum={"kind": "secagg"},
            schedule={**FEDAVG, "rounds": 2, "server": server},
        )
        folder = tmp_path / server["kind"]
        with training_silos(job, folder) as silos:
            train(job, LossyEngine(silos), folder, unheard)
            ledgers = {name: silo.ledger for name, silo in silos.items()}
            charged.append(
                {name: [charge.event for charge in ledger.charges] for name, ledger in ledgers.items() if ledger}
            )
    assert charged[0] == charged[1]
    assert {name: len(events) for name, events in charged[0].items()} == {"north": 2, "east": 2, "south": 2}
