"""A secure sum with all its parties in one process: the real protocol, every message counted and every party timed.

`sum_in_process` is the whole of it in one call:

    total = sum_in_process(CkksSum(), {"north": update, "east": other_update}).total

`InProcess` is the same round by round, for whoever looks at messages, alters them, or restarts a silo on the way.
Rounds are counted from 1, as in error messages.
"""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from numpy.typing import NDArray

from siloseal.federation.errors import DomainError, WrongContributors, WrongRound
from siloseal.federation.randomness import Randomness, SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.exchanges import Exchange, InProcessSum
from siloseal.federation.sums.new_session import Vectors, as_vector, inferred_domain, named_vectors, new_session
from siloseal.federation.sums.secure_sum import SecureSum, SiloSide, Sum
from siloseal.federation.sums.session import Domain
from siloseal.federation.whole_numbers import is_whole

Hook = Callable[[int, str, bytes], bytes]
"""Function that takes a round, a silo and a message on its way, and returns the message that arrives."""

RandomnessOf = Callable[[str], Randomness]
"""Function that returns the randomness of the silo with this name."""


def secure_randomness(silo: str) -> Randomness:
    """Fresh randomness of the operating system, for any silo."""
    return SecureRandomness()


def unaltered(round: int, silo: str, message: bytes) -> bytes:
    """Return the message as it is: the hook that changes nothing."""
    return message


def sum_in_process(
    scheme: SecureSum,
    vectors: Vectors,
    *,
    domain: Domain | None = None,
    quorum: int | None = None,
    drop: Mapping[str, int] | None = None,
    identities: Mapping[str, Identity] | None = None,
    randomness: RandomnessOf = secure_randomness,
    session_id: bytes | None = None,
    to_silo: Hook = unaltered,
    from_silo: Hook = unaltered,
) -> InProcessSum:
    """Sum the silos' vectors by the real protocol, between parties that all live in this process.

    `domain` is what entries may be; for real vectors the largest magnitude bounds them if it is left out. `quorum` is
    the number of silos that must contribute: all, unless it says otherwise. `drop` names silos that fall silent, each
    with the first round that it does not answer. `to_silo` and `from_silo` see every message, and may alter it.
    Identities, the session's id and everything random come from the operating system, unless a test fixes them all to
    have the same sum twice.
    """
    parties = InProcess(
        scheme,
        vectors,
        domain=domain,
        quorum=quorum,
        identities=identities,
        randomness=randomness,
        session_id=session_id,
    )
    return parties.finish(drop, to_silo=to_silo, from_silo=from_silo)


class InProcess:
    """All parties of one secure sum, with the messages that are out between them.

    Every part may be looked at or replaced between rounds: a silo's side in `silos`, or the `aggregator`'s before the
    first round.
    """

    def __init__(
        self,
        scheme: SecureSum,
        vectors: Vectors,
        *,
        domain: Domain | None = None,
        quorum: int | None = None,
        identities: Mapping[str, Identity] | None = None,
        randomness: RandomnessOf = secure_randomness,
        session_id: bytes | None = None,
        clock: Callable[[], float] = time.process_time,
    ) -> None:
        self.scheme, self.vectors = scheme, named_vectors(vectors)
        agreed = inferred_domain(self.vectors) if domain is None else domain
        scheme.admit(agreed, len(self.vectors))
        self.identities = {silo: (identities or {}).get(silo) or Identity.create(silo) for silo in self.vectors}
        self.session = new_session(scheme, self.identities, agreed, quorum=quorum, session_id=session_id)
        self.exchanges = list[Exchange]()
        self.aggregator_seconds = 0.0
        self.round = 0
        """Number of rounds that are over."""
        self.replies: Mapping[str, bytes] = {}
        """Replies of the last round, as they reached the aggregator."""
        self._randomness, self._clock = randomness, clock
        self._step: Mapping[str, bytes] | Sum | None = None
        self.silos = dict[str, SiloSide]()
        for silo in self.vectors:
            vector = self._vector(silo)
            began = clock()
            self.silos[silo] = scheme.silo(self.session, self.identities[silo], vector, randomness(silo))
            self.exchanges.append(Exchange(0, silo, 0, 0, clock() - began))
        self.aggregator = scheme.aggregator(self.session)

    @property
    def result(self) -> Sum | None:
        """The sum, once the last round is over."""
        return self._step if isinstance(self._step, Sum) else None

    @property
    def messages(self) -> Mapping[str, bytes]:
        """The aggregator's messages to the silos that are asked next."""
        if self._step is None:
            self._step = self.aggregator.open()
        if isinstance(self._step, Sum):
            raise WrongRound("the sum is there, and nobody is asked any more")
        return self._step

    def side(self, silo: str, randomness: Randomness | None = None) -> SiloSide:
        """A fresh side of this silo, which has answered nothing yet."""
        drawn = self._randomness(silo) if randomness is None else randomness
        return self.scheme.silo(self.session, self.identities[silo], self._vector(silo), drawn)

    def restart(self, silo: str, randomness: Randomness | None = None) -> None:
        """Replace the silo's side by a fresh one that takes up its state, as after a crash."""
        fresh = self.side(silo, randomness)
        fresh.restore(self.silos[silo].state())
        self.silos[silo] = fresh

    def answer(
        self, messages: Mapping[str, bytes], *, to_silo: Hook = unaltered, from_silo: Hook = unaltered
    ) -> dict[str, bytes]:
        """Return the silos' replies to messages of the round that is under way."""
        replies = dict[str, bytes]()
        for silo, message in messages.items():
            arrived = to_silo(self.round + 1, silo, message)
            began = self._clock()
            reply = self.silos[silo].answer(arrived)
            seconds = self._clock() - began
            self.exchanges.append(Exchange(self.round + 1, silo, len(arrived), len(reply), seconds))
            replies[silo] = from_silo(self.round + 1, silo, reply)
        return replies

    def next_round(
        self,
        silent: Collection[str] = (),
        *,
        to_silo: Hook = unaltered,
        from_silo: Hook = unaltered,
        checked: bool = True,
    ) -> None:
        """Run one round: all who are asked answer, but for the silent, and the aggregator goes on with the replies.

        An aggregator that does not check them adds whatever comes.
        """
        asked = {silo: message for silo, message in self.messages.items() if silo not in silent}
        self.replies = self.answer(asked, to_silo=to_silo, from_silo=from_silo)
        self.round += 1
        began = self._clock()
        for silo, reply in self.replies.items() if checked else ():
            self.aggregator.check(silo, reply)
        self._step = self.aggregator.advance(self.replies)
        self.aggregator_seconds += self._clock() - began

    def finish(
        self, drop: Mapping[str, int] | None = None, *, to_silo: Hook = unaltered, from_silo: Hook = unaltered
    ) -> InProcessSum:
        """Run all rounds that are left. A silo in `drop` answers nothing from that round on."""
        leaving = _checked_drop(drop or {}, self.session.roster)
        while (found := self.result) is None:
            silent = [silo for silo, first in leaving.items() if first <= self.round + 1]
            self.next_round(silent, to_silo=to_silo, from_silo=from_silo)
        costs = tuple(self.exchanges), self.aggregator_seconds
        return InProcessSum(found.total, found.contributors, found.error_bound, *costs)

    def _vector(self, silo: str) -> NDArray[Any]:
        vector, length = as_vector(silo, self.vectors[silo]), self.session.domain.length
        if vector.shape != (length,):
            raise DomainError(f"{silo}'s vector has shape {vector.shape}, but the sum is over {length} entries")
        return vector


def _checked_drop(drop: Mapping[str, int], roster: tuple[str, ...]) -> Mapping[str, int]:
    if not isinstance(drop, Mapping) or not all(is_whole(first) for first in drop.values()):
        raise WrongRound(f"drop is {drop!r}, expected the first round that each silo does not answer: {{'north': 3}}")
    if strangers := sorted(map(str, set(drop) - set(roster))):
        raise WrongContributors(f"{', '.join(strangers)} cannot drop out: the silos are {', '.join(roster)}")
    if early := sorted(silo for silo, first in drop.items() if first < 1):
        raise WrongRound(f"{', '.join(early)} cannot drop out before round 1, which is the first")
    return drop
