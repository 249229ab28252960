"""What a silo that has dropped its vector still holds of it: nothing."""

from collections.abc import Callable

import numpy as np
import pytest

from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.additive.additive_sum import AdditiveSum
from siloseal.federation.sums.masked.silo_side import MaskedSilo
from siloseal.federation.sums.ring.ring_sum import RingSum
from siloseal.federation.sums.secagg.secagg_sum import SecAggSum
from siloseal.federation.sums.secure_sum import SecureSum, SiloSide
from siloseal.federation.sums.session import IntegerDomain, Session

DOMAIN = IntegerDomain(1000, 2**20)
ROSTER = ("east", "north", "south")


def reachable(side: MaskedSilo) -> int:
    """Entries of the vector, or of the array that it is a view of, that the silo's side keeps."""
    words = side._words
    return words.size if words.base is None else max(words.size, np.asarray(words.base).size)


def forgets(scheme: SecureSum, session: Session, sides: dict[str, SiloSide]) -> None:
    for side in sides.values():
        side.forget()


def runs_to_its_end(scheme: SecureSum, session: Session, sides: dict[str, SiloSide]) -> None:
    aggregator = scheme.aggregator(session)
    step = aggregator.open()
    while isinstance(step, dict):
        step = aggregator.advance({name: sides[name].answer(message) for name, message in step.items()})


@pytest.mark.parametrize("ends", [forgets, runs_to_its_end])
@pytest.mark.parametrize("scheme", [SecAggSum(), AdditiveSum(), RingSum()], ids=lambda scheme: scheme.name)
def test_nothing_of_the_vector_is_kept(
    scheme: SecureSum, ends: Callable[[SecureSum, Session, dict[str, SiloSide]], None]
) -> None:
    identities = {name: Identity.create(name) for name in ROSTER}
    keys = tuple(identity.public for identity in identities.values())
    session = Session(bytes(32), ROSTER, DOMAIN, scheme.name, 3, keys)
    sides = {
        name: scheme.silo(session, identity, np.arange(DOMAIN.length), SecureRandomness())
        for name, identity in identities.items()
    }
    assert all(reachable(side) == DOMAIN.length for side in sides.values() if isinstance(side, MaskedSilo))
    ends(scheme, session, sides)
    for side in sides.values():
        assert isinstance(side, MaskedSilo)
        assert reachable(side) == 0
