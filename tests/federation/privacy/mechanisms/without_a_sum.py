"""A mechanism by itself: what silos encode is added in clear, modulo the modulus, and decoded."""

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.privacy.mechanism import Mechanism
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import KEY_BYTES
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import IntegerDomain, RealDomain, Session


def session(silos: int, length: int, *, bound: float = 1e9) -> Session:
    """A session of this many silos over reals."""
    names = tuple(f"silo{number}" for number in range(silos))
    return Session(bytes(range(32)), names, RealDomain(length, bound), "test", 1, (bytes(KEY_BYTES),) * silos)


def total_of(
    mechanism: Mechanism, vectors: NDArray[np.float64], agreed: Session, randomness: Randomness
) -> NDArray[np.float64]:
    """The decoded total of all silos' vectors."""
    assert isinstance(agreed.domain, RealDomain)
    domain = mechanism.domain(agreed.domain, len(vectors))
    assert isinstance(domain, IntegerDomain)
    encoded = np.sum([mechanism.encode(vector, agreed, randomness) for vector in vectors], axis=0)
    decoded = mechanism.decode(Sum(encoded % domain.modulus, agreed.roster, 0.0), agreed, randomness)
    return np.asarray(decoded.total, dtype=np.float64)
