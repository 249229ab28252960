"""Connections that end, hang or lose a party in the middle of a message: the message comes again, and counts once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from siloseal.federation.transport.chunks import CHUNK_BYTES

from .conftest import KERNEL_MEAN, NAMES, Consortium
from .evidence import audit_lines, digests, journal_replies
from .parties import Event, Party
from .proxy import Proxy

ConsortiumOf = Callable[..., Consortium]
LARGE: dict[str, Any] = {
    "warm_start": {**KERNEL_MEAN, "frequencies": 10_000, "fit_steps": 1},
    "secure_sum": {"kind": "ckks_joint_key"},
    "schedule": {"kind": "two_phase", "batch": 48, "local_steps": 10, "tuning_rounds": 0},
}
"""Its first sum has large messages: what everybody uploads, and what everybody opens."""
UPLOAD, OPEN = 8, 9


@pytest.fixture(scope="module")
def undisturbed(lasting_consortium_of: ConsortiumOf) -> np.ndarray:
    return lasting_consortium_of(**LARGE).start().finish()


@contextmanager
def through_proxies(consortium: Consortium) -> Iterator[dict[str, Proxy]]:
    """Every silo dials a proxy of its own."""
    proxies = {name: Proxy(consortium.port) for name in NAMES}
    for name, proxy in proxies.items():
        consortium.edit(name, aggregator={"host": "localhost", "port": proxy.port})
    try:
        yield proxies
    finally:
        for proxy in proxies.values():
            proxy.close()


def once(party: Party, event: str, number: int, then: Callable[[Event], None]) -> None:
    """When the party first says this, it waits until `then` has been called."""
    done = list[Event]()

    def on_event(said: Event) -> None:
        if said["event"] == event and said.get("number") == number and not done:
            done.append(said)
            then(said)

    party.paced, party.on_event = True, on_event


def ended(consortium: Consortium) -> np.ndarray:
    """The model, when everyone has ended well after all restarts; every reply is counted once."""
    last = consortium.aggregator.wait_for("finished")["requests"]
    for silo in consortium.silos.values():
        silo.wait_for("delivered", number=last)
    model = consortium.finish()
    replies = [(number, silo) for number, silo, _ in journal_replies(consortium)]
    assert replies == [(number, silo) for number in range(1, last + 1) for silo in sorted(NAMES)]
    for silo in NAMES:
        answered = digests(audit_lines(consortium, silo, "answers"), "number")
        assert all(len(different) == 1 for different in answered.values())
    return model


def in_the_middle_of_an_upload(party: Party, proxy: Proxy, then: Callable[[], None]) -> None:
    def arm(answer: Event) -> None:
        assert answer["reply_bytes"] > 2 * CHUNK_BYTES
        proxy.after(answer["reply_bytes"] // 2, "up", then)

    once(party, "answers", UPLOAD, arm)


def in_the_middle_of_a_download(aggregator: Party, proxy: Proxy, then: Callable[[], None]) -> None:
    def arm(ask: Event) -> None:
        size = ask["request_bytes"] // len(NAMES)
        assert size > 2 * CHUNK_BYTES
        proxy.after(size // 2, "down", then)

    once(aggregator, "asks", OPEN, arm)


def lines_of(consortium: Consortium, event: str, silo: str) -> int:
    """How often the aggregator's audit log says this of the silo."""
    return len([line for line in audit_lines(consortium, "aggregator", event) if line["silo"] == silo])


@pytest.mark.parametrize(
    ("in_the_upload", "in_the_download"),
    [("north", "aggregator"), ("aggregator", "east")],
    ids=["senders", "receivers"],
)
def test_parties_killed_in_the_middle_of_an_upload_and_of_a_download_go_on(
    consortium_of: ConsortiumOf, undisturbed: np.ndarray, in_the_upload: str, in_the_download: str
) -> None:
    consortium = consortium_of(**LARGE)
    parties = {"aggregator": consortium.aggregator, **consortium.silos}
    with through_proxies(consortium) as proxies:
        in_the_middle_of_an_upload(parties["north"], proxies["north"], parties[in_the_upload].restart)
        in_the_middle_of_a_download(parties["aggregator"], proxies["east"], parties[in_the_download].restart)
        consortium.start()
        assert np.array_equal(ended(consortium), undisturbed)
    for killed in (in_the_upload, in_the_download):
        begins = "serves" if killed == "aggregator" else "takes_part"
        assert len(audit_lines(consortium, killed, begins)) == 2


def test_connections_cut_in_the_middle_of_an_upload_and_of_a_download_are_made_again(
    consortium_of: ConsortiumOf, undisturbed: np.ndarray
) -> None:
    consortium = consortium_of(**LARGE)
    with through_proxies(consortium) as proxies:
        in_the_middle_of_an_upload(consortium.silos["north"], proxies["north"], proxies["north"].cut)
        in_the_middle_of_a_download(consortium.aggregator, proxies["east"], proxies["east"].cut)
        consortium.start()
        assert np.array_equal(ended(consortium), undisturbed)
    for silo in ("north", "east"):
        assert consortium.silos[silo].wait_for("waiting")["reason"].startswith("Unreachable")
        assert lines_of(consortium, "attends", silo) == 2
    assert len(consortium.silos["east"].said("asked", number=OPEN)) == 1, "half of a request is none"
    assert len(consortium.silos["north"].said("answers", number=UPLOAD)) == 2, "the same bytes again"


def test_a_silo_that_is_back_before_its_old_connection_is_missed_gets_its_requests(consortium_of: ConsortiumOf) -> None:
    """What is left of the old connection, half a minute of it, must not swallow them."""
    consortium = consortium_of()
    with through_proxies(consortium) as proxies:
        once(consortium.silos["north"], "delivered", 2, lambda _: proxies["north"].lose())
        consortium.start()
        ended(consortium)
    assert lines_of(consortium, "attends", "north") == 2


@pytest.mark.slow
def test_a_connection_that_hangs_is_noticed_by_both_sides_and_made_again(
    consortium_of: ConsortiumOf, undisturbed: np.ndarray
) -> None:
    """Within a minute, by the pings of gRPC."""
    consortium = consortium_of(**LARGE)
    north = consortium.silos["north"]
    with through_proxies(consortium) as proxies:
        in_the_middle_of_an_upload(north, proxies["north"], proxies["north"].hold)
        consortium.start()
        assert np.array_equal(ended(consortium), undisturbed)
    assert north.wait_for("waiting")["reason"].startswith("Unreachable")
    assert lines_of(consortium, "attends", "north") == 2
