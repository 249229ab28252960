"""An encrypted average in a user's own training loop: right within its bound, in place, untouched after an error."""

import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import siloseal
from siloseal.federation.errors import DomainError

NAMES = ["north", "east", "south"]
SEEDS = {"north": 0, "east": 1, "south": 2, "west": 3}
WEIGHTS = {"north": 300, "east": 2000, "south": 700}

State = dict[str, Tensor]
Script = Callable[[siloseal.AveragingSession], State]


class Network(nn.Module):
    """A module with parameters, floating buffers, a count, and one entry in double precision."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.body, self.norm, self.head = nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)
        self.register_buffer("scale", torch.rand(3, dtype=torch.float64, generator=generator))
        for parameter in self.parameters():
            nn.init.normal_(parameter, generator=generator)
        self.norm.running_mean = torch.randn(4, generator=generator)
        self.norm.num_batches_tracked = torch.tensor(seed)


def network_of(silo: str) -> Network:
    return Network(seed=SEEDS[silo])


def copied(module: nn.Module) -> State:
    return {name: value.clone() for name, value in module.state_dict().items()}


def expected(entry: str) -> np.ndarray:
    parts = [WEIGHTS[name] * network_of(name).state_dict()[entry].double().numpy() for name in NAMES]
    return np.asarray(sum(parts) / sum(WEIGHTS.values()))


def average_once(session: siloseal.AveragingSession) -> tuple[siloseal.SealedAverage, State]:
    module = network_of(session.silo)
    found = siloseal.sealed_average(module, weight=WEIGHTS[session.silo], session=session)
    return found, copied(module)


@pytest.mark.parametrize("kind", ["ckks", "secagg", "plain"])
def test_the_average_is_the_weighted_mean_within_its_bound_and_the_same_at_every_silo(kind: str) -> None:
    found = siloseal.simulate_silos(average_once, NAMES, secure_sum=kind)
    known, first = found["north"]
    assert (known.number, set(known.contributors)) == (1, set(NAMES))
    assert 0 < known.error_bound < (1e-4 if kind != "plain" else 1e-2)
    assert known.kept == ("norm.num_batches_tracked",)
    assert known.averaged == tuple(name for name in first if name not in known.kept)
    for entry in known.averaged:
        assert np.abs(first[entry].double().numpy() - expected(entry)).max() <= known.error_bound, entry
        assert all(torch.equal(state[entry], first[entry]) for _, state in found.values()), entry
        assert first[entry].dtype == network_of("north").state_dict()[entry].dtype
    counts = {name: int(state["norm.num_batches_tracked"]) for name, (_, state) in found.items()}
    assert counts == {name: SEEDS[name] for name in NAMES}


def test_what_an_optimizer_holds_is_changed_in_place() -> None:
    def script(session: siloseal.AveragingSession) -> bool:
        module = network_of(session.silo)
        held = list(module.parameters())
        siloseal.sealed_average(module, weight=WEIGHTS[session.silo], session=session)
        return all(one is other for one, other in zip(held, module.parameters(), strict=True)) and bool(
            np.allclose(held[0].detach().numpy(), expected("body.weight"), atol=1e-3)
        )

    assert siloseal.simulate_silos(script, NAMES) == dict.fromkeys(NAMES, True)


def test_parts_that_are_excluded_stay_at_their_silo() -> None:
    def script(session: siloseal.AveragingSession) -> tuple[siloseal.SealedAverage, State]:
        module = network_of(session.silo)
        found = siloseal.sealed_average(module, weight=500, session=session, exclude="head.*")
        return found, copied(module)

    for name, (found, state) in siloseal.simulate_silos(script, NAMES, secure_sum="secagg").items():
        assert {"head.weight", "head.bias"} <= set(found.kept)
        assert torch.equal(state["head.weight"], network_of(name).head.weight)
        assert not torch.equal(state["body.weight"], network_of(name).body.weight)


def test_a_loop_averages_as_often_as_it_likes() -> None:
    def script(session: siloseal.AveragingSession) -> list[float]:
        module, found = nn.Linear(1, 1, bias=False), list[float]()
        nn.init.constant_(module.weight, float(SEEDS[session.silo]))
        for epoch in range(4):
            assert session.averages == epoch
            with torch.no_grad():
                module.weight += 1
            siloseal.sealed_average(module, weight=1000, session=session)
            found.append(module.weight.item())
        return found

    for found in siloseal.simulate_silos(script, NAMES).values():
        assert found == pytest.approx([2.0, 3.0, 4.0, 5.0], abs=1e-3)


def test_the_last_average_can_be_restored() -> None:
    def script(session: siloseal.AveragingSession) -> tuple[int, bool, int]:
        module, again = network_of(session.silo), network_of(session.silo)
        before = session.restore(again)
        untouched = torch.equal(again.body.weight, network_of(session.silo).body.weight)
        siloseal.sealed_average(module, weight=WEIGHTS[session.silo], session=session)
        rounds = session.restore(again)
        return before, untouched and torch.equal(again.body.weight, module.body.weight), rounds

    assert set(siloseal.simulate_silos(script, NAMES, secure_sum="plain").values()) == {(0, True, 1)}


class _Kept:
    """A script whose module is looked at after its failure."""

    def __init__(self, change: Callable[[Network, str], object], weight: object = 500) -> None:
        self._change, self._weight = change, weight
        self.modules, self._lock = dict[str, tuple[State, State]](), threading.Lock()
        self.errors = dict[str, BaseException]()

    def __call__(self, session: siloseal.AveragingSession) -> None:
        module = network_of(session.silo)
        self._change(module, session.silo)
        before = copied(module)
        try:
            siloseal.sealed_average(module, weight=self._weight, session=session)  # type: ignore[arg-type]
        except siloseal.SiloSealError as error:
            self.errors[session.silo] = error
            raise
        finally:
            with self._lock:
                self.modules[session.silo] = before, copied(module)

    def changed(self) -> list[str]:
        return [
            silo
            for silo, (before, after) in self.modules.items()
            if not all(torch.equal(before[name], after[name]) or before[name].isnan().any() for name in before)
        ]


def widen(module: Network, silo: str) -> None:
    if silo == "east":
        module.head = nn.Linear(4, 3)


def rename(module: Network, silo: str) -> None:
    if silo == "east":
        module.top = module.head
        del module.head


@pytest.mark.parametrize("change", [widen, rename])
def test_modules_that_differ_end_the_run_with_both_sides_named_and_nothing_changed(
    change: Callable[[Network, str], None],
) -> None:
    script = _Kept(change)
    with pytest.raises(siloseal.RunError) as caught:
        siloseal.simulate_silos(script, NAMES, secure_sum="secagg")
    assert "east" in str(caught.value)
    assert "head" in str(caught.value)
    assert "north" in str(caught.value) or "south" in str(caught.value)
    assert (sorted(script.errors), script.changed()) == (sorted(NAMES), [])


def poison(value: float) -> Callable[[Network, str], None]:
    def change(module: Network, silo: str) -> None:
        if silo == "south":
            nn.init.constant_(module.head.bias, value)

    return change


@pytest.mark.parametrize("value", [65.0, -65.0, float("nan"), float("inf")])
def test_a_value_that_no_average_can_have_is_refused_by_name_and_nothing_is_changed(value: float) -> None:
    script = _Kept(poison(value))
    with pytest.raises(DomainError, match=r"head\.bias"):
        siloseal.simulate_silos(script, NAMES, secure_sum="secagg")
    assert script.changed() == []


def test_a_value_at_the_bound_is_averaged() -> None:
    def script(session: siloseal.AveragingSession) -> float:
        module = nn.Linear(1, 1, bias=False)
        nn.init.constant_(module.weight, 64.0)
        siloseal.sealed_average(module, weight=100_000, session=session)
        return module.weight.item()

    assert set(siloseal.simulate_silos(script, NAMES, secure_sum="secagg").values()) == {64.0}


@pytest.mark.parametrize(
    ("weight", "error"),
    [
        (100_001, DomainError),
        (10**30, DomainError),
        (1, DomainError),  # far below largest_silo: rounding would spoil it
        (0, siloseal.ConfigError),
        (-5, siloseal.ConfigError),
        (1.5, siloseal.ConfigError),
        (True, siloseal.ConfigError),
        (float("nan"), siloseal.ConfigError),
        ("3", siloseal.ConfigError),
    ],
)
def test_a_weight_that_cannot_be_carried_is_refused(weight: object, error: type[Exception]) -> None:
    script = _Kept(lambda module, silo: None, weight)
    with pytest.raises(error, match="weight"):
        siloseal.simulate_silos(script, NAMES, secure_sum="ckks")
    assert script.changed() == []


def test_a_silo_that_leaves_is_left_out_while_enough_remain() -> None:
    def script(session: siloseal.AveragingSession) -> list[tuple[str, ...]]:
        module, found = network_of(session.silo), list[tuple[str, ...]]()
        for _ in range(1 if session.silo == "west" else 3):
            average = siloseal.sealed_average(module, weight=900, session=session)
            found.append(tuple(sorted(average.contributors)))
        return found

    everyone, others = tuple(sorted(SEEDS)), tuple(sorted(NAMES))
    found = siloseal.simulate_silos(script, list(SEEDS), fewest=3)
    assert found == {**{name: [everyone, others, others] for name in NAMES}, "west": [everyone]}


def test_scripts_that_are_too_few_to_go_on_are_told_who_is_left() -> None:
    def script(session: siloseal.AveragingSession) -> None:
        module = network_of(session.silo)
        for _ in range(1 if session.silo == "east" else 2):
            siloseal.sealed_average(module, weight=900, session=session)

    with pytest.raises(siloseal.RunError, match="north, south"):
        siloseal.simulate_silos(script, NAMES, secure_sum="secagg")


def test_a_script_that_fails_ends_the_others_with_its_own_error() -> None:
    def script(session: siloseal.AveragingSession) -> None:
        if session.silo == "south":
            raise ZeroDivisionError
        siloseal.sealed_average(network_of(session.silo), weight=900, session=session)

    with pytest.raises(ZeroDivisionError):
        siloseal.simulate_silos(script, NAMES)


def test_no_more_averages_are_made_than_the_run_allows() -> None:
    def script(session: siloseal.AveragingSession) -> int:
        module = network_of(session.silo)
        for _ in range(2):
            siloseal.sealed_average(module, weight=900, session=session)
        with pytest.raises(siloseal.RunError):
            siloseal.sealed_average(module, weight=900, session=session)
        return session.averages

    found = siloseal.simulate_silos(script, NAMES, secure_sum="plain", averages=2)
    assert found == dict.fromkeys(NAMES, 2)


def test_a_session_that_is_over_averages_nothing() -> None:
    sessions = siloseal.simulate_silos(lambda session: session, NAMES, secure_sum="plain")
    with pytest.raises(siloseal.RunError):
        siloseal.sealed_average(network_of("north"), weight=900, session=sessions["north"])


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: siloseal.simulate_silos("train", NAMES),
        lambda: siloseal.simulate_silos(average_once, "north"),
        lambda: siloseal.simulate_silos(average_once, NAMES, secure_sum="rot13"),
        lambda: siloseal.simulate_silos(average_once, NAMES, options={"kind": "plain"}),
        lambda: siloseal.simulate_silos(average_once, NAMES, options={"precision_bits": object()}),
        lambda: siloseal.simulate_silos(average_once, NAMES, fewest=4),
        lambda: siloseal.simulate_silos(average_once, ["north", "North"]),
        lambda: siloseal.sealed_average(network_of("north"), weight=900, session=None),
        lambda: siloseal.open_session(3),
        lambda: siloseal.open_session("nowhere.yaml").__enter__(),
        lambda: siloseal.simulate_silos(
            lambda session: siloseal.sealed_average("module", weight=900, session=session), NAMES
        ),
        lambda: siloseal.simulate_silos(
            lambda session: siloseal.sealed_average(network_of("north"), weight=9, session=session, exclude=3), NAMES
        ),
    ],
)
def test_another_argument_is_refused_in_words(misuse: Callable[[], object]) -> None:
    with pytest.raises(siloseal.ConfigError):
        misuse()
