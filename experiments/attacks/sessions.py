"""One session of a sum between silos in this process, for attacks that look at what comes of it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.driving import drive
from siloseal.federation.sums.secure_sum import SecureSum, SiloSide
from siloseal.federation.sums.session import RealDomain, Session

Reals = NDArray[np.float64]


def begin(scheme: SecureSum, vectors: Sequence[Reals], *, bound: float) -> tuple[Session, dict[str, SiloSide]]:
    """A session between silos that contribute these, and their sides."""
    identities = [Identity.create(f"silo{number}") for number in range(len(vectors))]
    roster, keys = tuple(me.name for me in identities), tuple(me.public for me in identities)
    randomness, domain = SecureRandomness(), RealDomain(len(vectors[0]), bound)
    session = Session(randomness.bits(32), roster, domain, scheme.name, len(roster), keys)
    sides = {
        me.name: scheme.silo(session, me, vector, randomness) for me, vector in zip(identities, vectors, strict=True)
    }
    return session, sides


def summed(scheme: SecureSum, vectors: Sequence[Reals], *, bound: float) -> Reals:
    """What the aggregator holds at the end of a whole session."""
    session, sides = begin(scheme, vectors, bound=bound)
    found = drive(
        scheme.aggregator(session), lambda asked: {silo: sides[silo].answer(message) for silo, message in asked.items()}
    )
    return np.asarray(found.total, dtype=np.float64)
