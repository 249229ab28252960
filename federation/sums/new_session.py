"""Session of a process that plays all parties, and so agrees alone on roster, keys, domain and quorum."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from siloseal.federation.config.quoting import quoted
from siloseal.federation.errors import DomainError
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import Domain, RealDomain, Session
from siloseal.federation.whole_numbers import is_whole

Vectors = Mapping[str, ArrayLike] | Iterable[ArrayLike]
"""Each silo's vector by the silo's name. Without names the silos are called silo0, silo1, and so on."""

LONGEST_NAME = 64
"""Largest number of bytes of a silo's name, as in a job's file: the sizes of messages leave room for no more."""


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
    if quorum is not None and not is_whole(quorum):
        raise DomainError(f"quorum is {quorum!r}, expected the number of silos that must stay, 1 to {len(names)}")
    drawn = SecureRandomness().bits(32) if session_id is None else session_id
    return Session(drawn, names, domain, scheme.name, len(names) if quorum is None else quorum, keys)


def named_vectors(vectors: Vectors) -> Mapping[str, ArrayLike]:
    """Return the vectors by silo. A mapping is kept as it is, so that it may make vectors as they are needed."""
    if isinstance(vectors, str | bytes) or not isinstance(vectors, Iterable):
        kind = type(vectors).__name__
        raise DomainError(f"vectors are of type {kind}, expected one for each silo; give them by the silos' names")
    if isinstance(vectors, Mapping):
        named = vectors
    else:
        named = {f"silo{number}": vector for number, vector in enumerate(vectors)}
    if not named:
        raise DomainError("there is no vector to sum; give one for each silo")
    if strange := [name for name in named if not _is_name(name)]:
        raise DomainError(
            f"a silo is called {quoted(strange[0])}, expected a text of 1 to {LONGEST_NAME} bytes in UTF-8; rename it"
        )
    return named


def _is_name(given: object) -> bool:
    """Whether messages can carry this name of a silo. Half of a surrogate pair has no UTF-8."""
    try:
        return isinstance(given, str) and 1 <= len(given.encode()) <= LONGEST_NAME
    except UnicodeEncodeError:
        return False


def as_vector(silo: str, given: ArrayLike) -> NDArray[Any]:
    """Return what the silo gave as an array of numbers in one row, or raise `DomainError`."""
    if np.ma.is_masked(given):
        raise DomainError(
            f"{silo}'s vector has masked entries, expected a number in each; give `vector.filled(0)` to leave them out"
        )
    try:
        vector = np.asarray(given)
    except (ValueError, TypeError, RuntimeError) as error:  # rows of several lengths, or a tensor with a gradient
        raise DomainError(f"{silo}'s vector is no row of numbers ({error}); give a list or an array of them") from None
    if vector.ndim != 1 or vector.size == 0:
        raise DomainError(f"{silo}'s vector has shape {vector.shape}, expected one row of one entry or more")
    if not np.issubdtype(vector.dtype, np.floating) and not np.issubdtype(vector.dtype, np.integer):
        raise DomainError(f"{silo}'s vector holds {vector.dtype}, expected numbers; convert its entries to floats")
    return vector


def inferred_domain(vectors: Mapping[str, ArrayLike]) -> RealDomain:
    """Return the domain of real vectors as long as the first, with entries up to the largest magnitude of any.

    Where parties do not share a process they agree on a bound beforehand: this one tells something of the vectors.
    """
    lengths, bound = dict[int, str](), 0.0
    for silo, given in vectors.items():
        vector = as_vector(silo, given)
        bound = max(bound, _largest_magnitude(silo, vector))
        lengths.setdefault(vector.size, silo)
    if len(lengths) > 1:
        found = " and ".join(f"{length} entries ({silo}'s)" for length, silo in lengths.items())
        raise DomainError(f"vectors of {found} cannot be added; give all silos vectors of one length")
    return RealDomain(next(iter(lengths)), bound or 1.0)  # a sum of zeros needs a bound, too


def _largest_magnitude(silo: str, vector: NDArray[Any]) -> float:
    """The largest magnitude of an entry; `DomainError` for integers, NaN and infinity."""
    if not np.issubdtype(vector.dtype, np.floating):
        raise DomainError(
            f"{silo}'s vector holds {vector.dtype}, and integers are summed modulo a number that all silos agree on; "
            "give `domain=IntegerDomain(length, modulus)`, or vectors of floats"
        )
    largest = float(np.abs(vector).max())
    if not np.isfinite(largest):
        raise DomainError(f"{silo}'s vector holds NaN or infinity, which no sum carries; give finite numbers")
    return largest
