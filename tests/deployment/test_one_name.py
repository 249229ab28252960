"""Two processes that are one silo: the second is turned away, and takes over when the first is gone."""

from collections.abc import Callable, Iterator

import pytest

from siloseal.federation.errors import RunError
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode

from .client import Caller, Hand, Pair, refused
from .conftest import NAMES, ONE_STEP, POLICY, Consortium
from .parties import Party


@pytest.fixture
def consortium(consortium_of: Callable[..., Consortium]) -> Consortium:
    consortium = consortium_of(schedule=ONE_STEP)
    consortium.aggregator.start().wait_for("serves")
    return consortium


@pytest.fixture
def others(consortium: Consortium) -> Iterator[list[Hand]]:
    hands = [Hand(consortium, "east"), Hand(consortium, "south")]
    yield hands
    for hand in hands:
        hand.close()


def test_a_second_process_is_turned_away_while_the_first_goes_on_and_is_served_when_the_first_has_died(
    consortium: Consortium, others: list[Hand]
) -> None:
    first = consortium.silos["north"].start()
    first.wait_for("delivered", number=1)
    with Caller(consortium, Pair.of(consortium.kits / "north")) as second:
        error, said = refused(lambda: second.attend(others[0].run_id, b"second").next())
        assert error is RunError
        assert said.startswith("another process attends as north; stop one of the two")
        for number in (2, 3):
            for hand in others:
                hand.step()
            first.wait_for("delivered", number=number)
        first.kill()
        consortium.aggregator.wait_for("left", silo="north")
        for hand in others:
            hand.step()
        taken_over = second.attend(others[0].run_id, b"second")
        assert decode(pb.Request, taken_over.next()).WhichOneof("body") == "train"


def test_a_silo_that_is_turned_away_says_why_and_goes_on_when_the_other_has_left(consortium: Consortium) -> None:
    with Caller(consortium, Pair.of(consortium.kits / "north")) as other:
        attending = other.attend(other.offer().run_id)
        attending.next()
        silo = consortium.silos["north"].start()
        reason = silo.wait_for("waiting")["reason"]
        assert reason.startswith("RunError: the aggregator answers: another process attends as")
        attending.leave()
        silo.wait_for("delivered", number=1)


def test_attendances_that_are_not_read_take_nobody_elses_place(
    consortium_of: Callable[..., Consortium],
) -> None:
    """Their requests are larger than what a connection holds; the newest of a process counts."""
    learner = {"kind": "gan", "latent": 1024, "generator": "mlp", "discriminator": "mlp"}
    consortium = consortium_of(schedule=ONE_STEP, learner=learner)
    for name in NAMES:
        consortium.edit(
            name, data={"kind": "digits", "side": 64, "limit": 300}, policy={**POLICY, "largest_model": 10**7}
        )
    consortium.aggregator.start().wait_for("serves")
    hands = [Hand(consortium, name) for name in NAMES]
    for _ in ("enrol", "begin", "nonces"):
        for hand in hands:
            hand.step()
    assert len(hands[0].next()) > 4 * 2**20
    with Caller(consortium, Pair.of(consortium.kits / "south")) as south:
        unread = [south.attend(hands[0].run_id, b"south", timeout=None) for _ in range(100)]
        with Caller(consortium, Pair.of(consortium.kits / "operator")) as operator:
            for _ in unread:  # whichever of them the threads are busy with
                assert operator.status().asked == "train"
    for hand in hands:
        hand.close()


def test_a_second_process_on_the_same_folder_ends_at_once(consortium: Consortium) -> None:
    first = consortium.silos["north"].start()
    first.wait_for("delivered", number=1)
    second = Party("silo", first.config).start()
    assert second.wait() == 1
    error = second.wait_for("error", type="RunError")
    assert "audit.jsonl is in use" in error["words"]
    assert first.alive
