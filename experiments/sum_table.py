"""All parties of one secure sum at one table: the real protocol in one process, with scales and a clock beside it."""

import time
from collections.abc import Collection, Mapping
from typing import NamedTuple

from siloseal.federation.errors import WrongRound
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.secure_sum import SecureSum, SiloSide, Sum
from siloseal.federation.sums.session import Domain, Session, Vector


class Exchange(NamedTuple):
    """One silo's part in one round."""

    round: int
    silo: str
    received_bytes: int
    sent_bytes: int
    seconds: float
    """Of the processor."""


class Table:
    """Everyone's side, the messages that are out, and what each silo has sent and received."""

    def __init__(
        self, scheme: SecureSum, vectors: Mapping[str, Vector], domain: Domain, *, quorum: int | None = None
    ) -> None:
        self.identities = {name: Identity.create(name) for name in vectors}
        """Identity keys of the silos, with which one that cheats signs what it likes."""
        keys = tuple(identity.public for identity in self.identities.values())
        number = SecureRandomness().bits(32)
        self.session = Session(number, tuple(vectors), domain, scheme.name, quorum or len(vectors), keys)
        scheme.admit(domain, len(vectors))
        self.silos = dict[str, SiloSide]()
        self.log = list[Exchange]()
        for name, vector in vectors.items():
            began = time.process_time()
            self.silos[name] = scheme.silo(self.session, self.identities[name], vector, SecureRandomness())
            self.log.append(Exchange(0, name, 0, 0, time.process_time() - began))
        self.aggregator_seconds = 0.0
        self.aggregator = scheme.aggregator(self.session)
        self.round = 0
        """Rounds that are over."""
        self.replies: dict[str, bytes] = {}
        """Of the last round."""
        self._step: Mapping[str, bytes] | Sum = self.aggregator.open()

    @property
    def messages(self) -> Mapping[str, bytes]:
        """What the aggregator asks next, before anyone has read it."""
        if isinstance(self._step, Sum):
            raise WrongRound("the sum is there, and nobody is asked any more")
        return self._step

    @property
    def sent(self) -> dict[str, int]:
        """Bytes that each silo has sent."""
        return {name: sum(one.sent_bytes for one in self.log if one.silo == name) for name in self.silos}

    @property
    def received(self) -> dict[str, int]:
        """Bytes that each silo has received."""
        return {name: sum(one.received_bytes for one in self.log if one.silo == name) for name in self.silos}

    def next_round(self, silent: Collection[str] = ()) -> None:
        """Everyone who was asked answers, but for the silent."""
        asked = {name: message for name, message in self.messages.items() if name not in silent}
        self.round += 1
        self.replies = {name: self._answer(name, message) for name, message in asked.items()}
        began = time.process_time()
        for name, reply in self.replies.items():
            self.aggregator.check(name, reply)
        self._step = self.aggregator.advance(self.replies)
        self.aggregator_seconds += time.process_time() - began

    def finish(self, leaving: Mapping[str, int] | None = None) -> Sum:
        """All rounds that are left. A silo that leaves in round r answers none from that one on."""
        gone = leaving or {}
        while not isinstance(self._step, Sum):
            self.next_round([name for name, number in gone.items() if number <= self.round + 1])
        return self._step

    def _answer(self, name: str, message: bytes) -> bytes:
        began = time.process_time()
        reply = self.silos[name].answer(message)
        self.log.append(Exchange(self.round, name, len(message), len(reply), time.process_time() - began))
        return reply
