"""Session of a process that plays all parties, and so agrees alone on roster, keys, domain and quorum."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DomainError
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import Domain, RealDomain, Session, Vector

Vectors = Mapping[str, Vector] | Iterable[Vector]
"""Each silo's vector by the silo's name. Without names the silos are called silo0, silo1, and so on."""


def new_session(
    scheme: SecureSum,
    identities: Mapping[str, Identity],
    domain: Domain,
    *,
    quorum: int | None = None,
    session_id: bytes | None = None,
) -> Session:
    """Return a session between these silos. All must stay, unless a quorum is given; its id is random unless given."""
    names, keys = tuple(identities), tuple(identity.public for identity in identities.values())
    drawn = SecureRandomness().bits(32) if session_id is None else session_id
    return Session(drawn, names, domain, scheme.name, len(names) if quorum is None else quorum, keys)


def named_vectors(vectors: Vectors) -> Mapping[str, Vector]:
    """Return the vectors by silo. A mapping is kept as it is, so that it may make vectors as they are needed."""
    if isinstance(vectors, Mapping):
        named = vectors
    else:
        named = {f"silo{number}": vector for number, vector in enumerate(vectors)}
    if not named:
        raise DomainError("there is no vector to sum; give one for each silo")
    return named


def inferred_domain(vectors: Mapping[str, Vector]) -> RealDomain:
    """Return the domain of real vectors as long as the first, with entries up to the largest magnitude of any.

    Where parties do not share a process they agree on a bound beforehand: this one tells something of the vectors.
    """
    lengths, bound = dict[int, str](), 0.0
    for silo, given in vectors.items():
        vector: NDArray[Any] = np.asarray(given)
        bound = max(bound, _largest_magnitude(silo, vector))
        lengths.setdefault(vector.size, silo)
    if len(lengths) > 1:
        found = " and ".join(f"{length} entries ({silo}'s)" for length, silo in lengths.items())
        raise DomainError(f"vectors of {found} cannot be added; give all silos vectors of one length")
    return RealDomain(next(iter(lengths)), bound or 1.0)  # a sum of zeros needs a bound, too


def _largest_magnitude(silo: str, vector: NDArray[Any]) -> float:
    """The largest magnitude of an entry; `DomainError` for anything but a finite real vector."""
    if vector.ndim != 1 or vector.size == 0:
        raise DomainError(f"{silo}'s vector has shape {vector.shape}, expected one row of one entry or more")
    if not np.issubdtype(vector.dtype, np.floating):
        raise DomainError(
            f"{silo}'s vector holds {vector.dtype}, and integers are summed modulo a number that all silos agree on; "
            "give `domain=IntegerDomain(length, modulus)`, or vectors of floats"
        )
    largest = float(np.abs(vector).max())
    if not np.isfinite(largest):
        raise DomainError(f"{silo}'s vector holds NaN or infinity, which no sum carries")
    return largest
