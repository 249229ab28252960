"""A silo tries a user's learner itself: what breaks privacy or the sums is refused before anything is charged."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import siloseal
from siloseal.federation.errors import PromiseBroken
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.supervised import PythonConfig
from siloseal.federation.transport.wire.errors_pb2 import ErrorCode
from siloseal.models.user_code.pinning import pinned
from siloseal.silo.data.examples import Examples
from siloseal.silo.participation import Participation
from siloseal.silo.promises.checking import FOR_PRIVACY, FOR_SUMS, PROMISES
from siloseal.silo.promises.requiring import require_promises
from tests.models.user_code.conftest import Write, home, write  # noqa: F401 (fixtures)
from tests.silo.test_participation import Desk, reply_of, request

from .test_checking import BREACHES, SEPARATE

HERE = Path(__file__).parent
NONE = {"kind": "none"}
COUNTED = """\

class Counted(Plain):
    made = 0

    def __init__(self, shape, classes, options):
        Counted.made += 1
        super().__init__(shape, classes, options)
"""
REQUIRED = {**FOR_SUMS, **FOR_PRIVACY}
BREAKERS = {
    promise: min((cheat for cheat in BREACHES if promise in BREACHES[cheat]), key=lambda cheat: len(BREACHES[cheat]))
    for promise in REQUIRED
}
"""Learners that break a promise, and as few others as there are."""


@pytest.fixture
def planted(write: Write) -> None:  # noqa: F811
    """The learners that break promises, as a package of a user's own."""
    texts = {name: (HERE / f"{name}.py").read_text() for name in ("cheats", "honest")}
    write(planted__in__cheats=texts["cheats"] + COUNTED, planted__in__honest=texts["honest"], planted__in____init__="")


@pytest.fixture
def desk(small_job: Callable[..., Job], digits: Examples, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(small_job, digits, tmp_path / "state")
    yield desk
    for part in desk.made:
        part.close()


def learner(name: str, **options: Any) -> PythonConfig:
    return pinned(PythonConfig(kind="python", target=f"planted.cheats:{name}", options=options))


def job_of(desk: Desk, config: PythonConfig, **sections: Any) -> Job:
    return desk.job(learner=config.model_dump(mode="json"), evaluation={}, **sections)


def offered(desk: Desk, config: PythonConfig, **sections: Any) -> Participation:
    return desk.offered(job_of(desk, config, **sections), policy={"learners": [config.policy_entry]})


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("promise", REQUIRED)
def test_a_silo_refuses_whoever_breaks_a_promise_that_privacy_or_the_sums_rest_on(desk: Desk, promise: str) -> None:
    config = learner(BREAKERS[promise].__name__)
    part = offered(desk, config)
    assert part.refused.startswith("PromiseBroken")
    assert any(required in part.refused for required in REQUIRED)
    assert f"siloseal check-learner {config.target} --shape 1,8,8 --classes 10" in part.refused
    reply = reply_of(part, request(desk.job())).refusal
    assert (reply.code, config.target in reply.message) == (ErrorCode.PROMISE_BROKEN, False)
    assert not desk.folder().exists(), "there is no ledger, and so no charge"


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("name", ["Plain", "TakesAnything", "NeverShares"])
def test_a_silo_trains_whoever_keeps_them_whatever_else_is_broken(desk: Desk, name: str) -> None:
    part = offered(desk, config := learner(name))
    assert part.refused == ""
    desk.train(part, job_of(desk, config))
    assert part.epsilon


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize(
    ("name", "refused"), [("DividedByTheBatch", False), ("CountsItsSteps", True), ("NormWithStatistics", True)]
)
def test_without_privacy_units_may_be_mixed_but_the_sums_must_hold(desk: Desk, name: str, *, refused: bool) -> None:
    assert bool(offered(desk, learner(name), privacy=NONE).refused) == refused


@pytest.mark.usefixtures("planted")
def test_a_process_tries_one_learner_once_and_another_one_anew(desk: Desk, digits: Examples) -> None:
    def builds(examples: Examples, **options: Any) -> int:
        before = sys.modules["planted.cheats"].Counted.made if "planted.cheats" in sys.modules else 0
        require_promises(job_of(desk, learner("Counted", **options)), examples)
        return int(sys.modules["planted.cheats"].Counted.made) - before

    assert builds(digits) > 0
    assert builds(digits) == 0
    assert builds(digits, hidden=3) > 0
    assert builds(replace(digits, inputs=torch.zeros(len(digits), 5))) > 0
    assert builds(replace(digits, classes=11)) > 0


@pytest.mark.usefixtures("planted")
def test_a_simulation_refuses_before_its_silos_have_spent_anything(
    small_job: Callable[..., Job], tmp_path: Path
) -> None:
    job = small_job(learner=learner("CarriesDataIntoTheVector").model_dump(mode="json"), evaluation={})
    with pytest.raises(PromiseBroken) as refused:
        siloseal.simulate(job, tmp_path / "run")
    assert "changes seen" in str(refused.value)
    assert not [*(tmp_path / "run").rglob("ledger*")]


@pytest.mark.usefixtures("planted")
def test_data_of_any_shape_and_options_are_in_the_command(desk: Desk) -> None:
    config = learner("DividedByTheBatch", hidden=2)
    masks = Examples(torch.zeros(8, 3), torch.zeros(8, dtype=torch.int64), 2)
    with pytest.raises(PromiseBroken) as refused:
        require_promises(job_of(desk, config), masks)
    assert SEPARATE in str(refused.value)
    assert """--shape 3 --classes 2 --options '{"hidden": 2}' --folder """ in str(refused.value)


def test_what_a_silo_does_not_require_is_left_to_the_command() -> None:
    assert REQUIRED.items() < PROMISES.items()
