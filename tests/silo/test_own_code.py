"""A silo runs code of a user's own only if its policy lists it with its digest, and its own copy has that digest."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.supervised import ClassifierConfig
from siloseal.federation.transport.wire.errors_pb2 import ErrorCode
from siloseal.models.user_code.pinning import pinned
from siloseal.silo.data.examples import Examples
from siloseal.silo.participation import Participation
from tests.models.user_code.conftest import Write, home, write  # noqa: F401 (fixtures)

from .test_participation import Desk, reply_of, request

NET = "import torch\ndef build(shape, classes):\n    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, classes))\n"
LEARNER = ClassifierConfig(kind="classifier", model="own_net:build")


@pytest.fixture
def desk(small_job: Callable[..., Job], digits: Examples, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(small_job, digits, tmp_path / "state")
    yield desk
    for part in desk.made:
        part.close()


def offered(desk: Desk, learner: ClassifierConfig, *allowed: str) -> Participation:
    job = desk.job(learner=learner.model_dump(mode="json"), evaluation={})
    return desk.offered(job, policy={"learners": list(allowed)})


def code_of(desk: Desk, part: Participation) -> int:
    return int(reply_of(part, request(desk.job())).refusal.code)


@pytest.fixture
def listed(write: Write) -> str:  # noqa: F811
    """The entry of a policy that allows the code as it is now."""
    write(own_net=NET)
    return pinned(LEARNER).policy_entry


def test_code_that_the_policy_lists_is_run(desk: Desk, listed: str) -> None:
    part = offered(desk, learner := pinned(LEARNER), listed)
    assert part.refused == ""
    desk.train(part, desk.job(learner=learner.model_dump(mode="json"), evaluation={}))
    assert part.epsilon


@pytest.mark.parametrize("others", [(), ("classifier", "gan"), (f"classifier:own_net:build@sha256:{'0' * 64}",)])
def test_code_that_the_policy_does_not_list_is_refused_with_the_entry_to_add_and_never_imported(
    desk: Desk, listed: str, others: tuple[str, ...]
) -> None:
    part = offered(desk, pinned(LEARNER), *others)
    assert all(word in part.refused for word in ("PolicyRefused", f'"{listed}"', "policy.learners", "silo.yaml"))
    assert code_of(desk, part) == ErrorCode.POLICY_REFUSED
    assert "own_net" not in sys.modules
    assert not desk.folder().exists()


def test_a_built_in_classifier_needs_an_entry_of_its_own(desk: Desk, listed: str) -> None:
    learner = ClassifierConfig(kind="classifier", model="logistic")
    assert offered(desk, learner, "classifier").refused == ""
    assert "policy.learners" in offered(desk, learner, listed).refused


def test_code_without_a_digest_is_refused_and_the_aggregator_learns_nothing_of_what_lies_here(
    desk: Desk, listed: str
) -> None:
    part = offered(desk, LEARNER, listed)
    absent = offered(desk, ClassifierConfig(kind="classifier", model="no_such_net:build"), listed)
    replies = [reply_of(each, request(desk.job())).refusal for each in (part, absent)]
    assert replies[0] == replies[1]
    assert replies[0].code == ErrorCode.POLICY_REFUSED
    assert str(pinned(LEARNER).source) not in replies[0].message
    assert "own_net" not in sys.modules


def test_a_changed_source_is_refused_before_anything_is_imported_and_its_path_stays_in_the_silo(
    desk: Desk,
    listed: str,
    write: Write,  # noqa: F811
) -> None:
    learner = pinned(LEARNER)
    folder = write(own_net=f"{NET}# changed\n")
    part = offered(desk, learner, listed)
    assert all(word in part.refused for word in ("CodeMismatch", str(folder / "own_net.py"), str(learner.source)))
    reply = reply_of(part, request(desk.job())).refusal
    assert (reply.code, str(folder) in reply.message) == (ErrorCode.CODE_MISMATCH, False)
    assert "own_net" not in sys.modules
    assert not desk.folder().exists()
