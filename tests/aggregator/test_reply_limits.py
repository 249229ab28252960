"""A reply is read only as far as its request can need: a few bytes for most, the round's largest message in a sum."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from siloseal.aggregator.asking import SMALL_BYTES
from siloseal.aggregator.dispatcher import Dispatcher, Patience
from siloseal.aggregator.journal import Journal
from siloseal.federation.errors import MessageTooLarge
from siloseal.federation.job.beacon import BEACON_BYTES
from siloseal.federation.job.job import Job
from siloseal.federation.job.releases import Content, Release, Run
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.run_events.stream import unheard
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.secure_sum import SiloSide
from siloseal.federation.sums.session import RealDomain, Session
from siloseal.federation.transport.engine import Accept
from siloseal.federation.transport.wire import consortium_pb2
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION

IDENTITIES = {name: Identity.create(name) for name in ("north", "east", "south")}
NAMES = tuple(IDENTITIES)
UNKNOWN_FIELD = b"\x7a"  # field 15, of bytes
DOMAIN = RealDomain(length=50_000, bound=1.0)
RELEASE = Release("phase_1", 0, "phase_1", Content.MODEL, PlainSum(), None, DOMAIN, NAMES, len(NAMES), None)
RUN = Run(bytes(BEACON_BYTES), {name: me.public for name, me in IDENTITIES.items()})


class Silos:
    """An `Engine` that remembers the limit of each request, and may add `padding` bytes to a reply."""

    def __init__(self) -> None:
        self.limits = list[int]()
        self.padding = 0

    def ask(
        self, requests: Mapping[str, bytes], *, deadline_seconds: float, fewest: int, largest: int, accept: Accept
    ) -> None:
        self.limits.append(largest)
        for silo, request in requests.items():
            accept(silo, self._reply(silo, request))

    def _reply(self, silo: str, data: bytes) -> bytes:
        request = pb.Request.FromString(data)
        reply = pb.Reply(
            protocol_version=PROTOCOL_VERSION,
            number=request.number,
            silo=silo,
            request_digest=hashlib.sha256(data).digest(),
        )
        if request.WhichOneof("body") == "begin":
            reply.begun.SetInParent()
        else:
            reply.sum = self._side(silo, request.sum).answer(request.sum.message)
        return reply.SerializeToString() + (UNKNOWN_FIELD + _length(self.padding) if self.padding else b"")

    def _side(self, silo: str, message: pb.Sum) -> SiloSide:
        session = Session.from_wire(message.session)
        return PlainSum().silo(session, IDENTITIES[silo], np.zeros(DOMAIN.length), SeededRandomness(0))


def _length(padding: int) -> bytes:
    return consortium_pb2.Chunk(data=bytes(padding)).SerializeToString()[1:]


@pytest.fixture
def silos() -> Silos:
    return Silos()


@pytest.fixture
def talk(small_job: Callable[..., Job], tmp_path: Path, silos: Silos) -> Iterator[Dispatcher]:
    job = small_job()
    journal = Journal(tmp_path / "journal.sqlite", job.digest)
    talk = Dispatcher(job, silos, journal, Patience(), unheard)
    yield talk
    journal.close()


def begin(talk: Dispatcher) -> None:
    talk.ask({silo: pb.Request(begin=pb.Begin()) for silo in NAMES})


def test_a_request_outside_a_sum_is_answered_by_little(talk: Dispatcher, silos: Silos) -> None:
    begin(talk)
    assert silos.limits == [SMALL_BYTES]


def test_a_round_of_a_sum_is_answered_by_its_largest_message_and_a_little(talk: Dispatcher, silos: Silos) -> None:
    talk.sum(RELEASE, RUN, NAMES)
    (limit,) = silos.limits
    assert 4 * DOMAIN.length < limit < 4 * DOMAIN.length + 2 * SMALL_BYTES


def test_a_longer_reply_is_refused_whatever_carried_it(talk: Dispatcher, silos: Silos) -> None:
    silos.padding = SMALL_BYTES
    with pytest.raises(MessageTooLarge):
        begin(talk)
    silos.padding = 4 * DOMAIN.length
    with pytest.raises(MessageTooLarge):
        talk.sum(RELEASE, RUN, NAMES)
