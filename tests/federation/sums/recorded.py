"""All parties of a secure sum, with seeded randomness, and everything that was asked, said and kept on the way."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from siloseal.federation.randomness import Randomness, SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.envelope import unwrap, wrap
from siloseal.federation.sums.in_process import Hook, InProcess, unaltered
from siloseal.federation.sums.new_session import new_session
from siloseal.federation.sums.secure_sum import SecureSum, SiloSide, Sum
from siloseal.federation.sums.session import Domain, IntegerDomain, Session, Vector

MOST_SILOS = 10_000

identity = cache(Identity.create)
"""A silo's identity, the same in every session of a test run."""


def drawn_vectors(names: Collection[str], domain: Domain, *, seed: int = 7) -> dict[str, Vector]:
    """A vector of the domain for each silo."""
    draw = np.random.default_rng(seed)
    if isinstance(domain, IntegerDomain):
        return {name: draw.integers(0, domain.modulus, domain.length) for name in names}
    return {name: draw.uniform(-domain.bound, domain.bound, domain.length) for name in names}


@dataclass(frozen=True)
class _Disturbance:
    """What goes wrong on the way of a session: see `Recorded.run`."""

    silent: Mapping[str, int]
    tell: Hook = unaltered
    reply: Hook = unaltered
    restarted: Collection[int] = ()
    checked: bool = True


class Recorded(InProcess):
    """One session. Rounds count from 0 here, as in the schemes; equal seeds and ids give equal messages.

    Hooks see and return what a message says, without the session's wrapping. (That of reals in fixed point is another
    one, of the integers below: `body_asked`, `body_said` and hooks are for the sums that need no such thing.)
    """

    def __init__(
        self,
        scheme: SecureSum,
        vectors: Mapping[str, Vector],
        domain: Domain,
        *,
        quorum: int | None = None,
        id: int = 0,
        seed: int = 0,
        clones: Mapping[str, str] | None = None,
    ) -> None:
        self.roster, self._seed, self._clones = tuple(vectors), seed, clones or {}
        super().__init__(
            scheme, vectors, domain=domain, quorum=quorum, session_id=bytes([id]) * 32,
            identities={name: identity(name) for name in vectors}, randomness=self.randomness_of,
        )  # fmt: skip
        self.asked = list[Mapping[str, bytes]]()
        self.said = list[Mapping[str, bytes]]()
        self.states = list[dict[str, bytes]]()
        """State of each silo after each round."""

    def randomness_of(self, silo: str, *, seed: int | None = None) -> Randomness:
        """Randomness of a silo; a clone draws what the silo that it copies draws."""
        place = self.roster.index(self._clones.get(silo, silo))
        return SeededRandomness(MOST_SILOS * (self._seed if seed is None else seed) + place)

    def session_of(self, id: int) -> Session:
        """The same session under another id."""
        session = self.session
        return new_session(
            self.scheme, self.identities, session.domain, quorum=session.quorum, session_id=bytes([id]) * 32
        )

    def run(
        self,
        *,
        silent: Mapping[str, int] | None = None,
        tell: Hook = unaltered,
        reply: Hook = unaltered,
        restarted: Collection[int] = (),
        checked: bool = True,
    ) -> Sum:
        """All rounds that are left. A silo in `silent` says nothing from that round on.

        `tell` may alter what silos are told, `reply` what they answer. Before the rounds in `restarted`, fresh objects
        with other randomness take up what the silos kept.
        """
        disturbance = _Disturbance(silent or {}, tell, reply, restarted, checked)
        while self.result is None:
            self._step_through(disturbance)
        return self.result

    def run_until(
        self,
        number: int,
        *,
        silent: Mapping[str, int] | None = None,
        tell: Hook = unaltered,
        checked: bool = True,
    ) -> Mapping[str, bytes]:
        """The rounds before this one; returns the messages that begin it."""
        disturbance = _Disturbance(silent or {}, tell, unaltered, (), checked)
        while self.round < number:
            self._step_through(disturbance)
        return self.messages

    def step(self, *, silent: Mapping[str, int] | None = None) -> None:
        """One round."""
        self._step_through(_Disturbance(silent or {}))

    def _step_through(self, disturbance: "_Disturbance") -> None:
        number, tell, reply = self.round, disturbance.tell, disturbance.reply
        if number in disturbance.restarted:
            for silo in self.roster:
                self.restart(silo, self.randomness_of(silo, seed=number + 100))
        self.asked.append(self.messages)
        self.said.append(said := {})

        def to_silo(_: int, silo: str, message: bytes) -> bytes:
            if tell is unaltered:
                return message
            told = tell(number, silo, unwrap(self.session, round=2 * number, data=message))
            return wrap(self.session, round=2 * number, body=told)

        def from_silo(_: int, silo: str, message: bytes) -> bytes:
            said[silo] = message
            if reply is not unaltered:
                body = reply(number, silo, unwrap(self.session, round=2 * number + 1, data=message))
                said[silo] = wrap(self.session, round=2 * number + 1, body=body)
            self.states[number][silo] = self.silos[silo].state()
            return said[silo]

        self.states.append({silo: side.state() for silo, side in self.silos.items()})
        gone = [silo for silo, first in disturbance.silent.items() if number >= first]
        self.next_round(gone, to_silo=to_silo, from_silo=from_silo, checked=disturbance.checked)

    @property
    def carried(self) -> bytes:
        """All messages that passed the aggregator, both ways."""
        return b"".join(message for way in (self.asked, self.said) for told in way for message in told.values())

    def body_asked(self, number: int, silo: str) -> bytes:
        """What the silo was asked in a round."""
        return unwrap(self.session, round=2 * number, data=self.asked[number][silo])

    def body_said(self, number: int, silo: str) -> bytes:
        """What the silo answered in a round."""
        return unwrap(self.session, round=2 * number + 1, data=self.said[number][silo])

    def tell(self, number: int, silo: str, body: bytes) -> bytes:
        """Ask a silo this, and return what it answers."""
        reply = self.silos[silo].answer(wrap(self.session, round=2 * number, body=body))
        return unwrap(self.session, round=2 * number + 1, data=reply)

    def restored(self, silo: str, number: int) -> SiloSide:
        """A fresh side that goes on from what the silo kept before it answered this round."""
        side = self.side(silo)
        if number:
            side.restore(self.states[number - 1][silo])
        return side

    def total(self, *contributors: str) -> Vector:
        """The right sum of these silos, or of all."""
        vectors = [self.vectors[silo] for silo in contributors or self.roster]
        if isinstance(self.session.domain, IntegerDomain):
            modulus = self.session.domain.modulus
            return np.array([sum(entry) % modulus for entry in zip(*(v.tolist() for v in vectors), strict=True)])
        return np.sum(vectors, axis=0)
