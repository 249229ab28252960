"""What a silo keeps of its vector: nothing in its state, and nothing at all once it has dropped it."""

from collections.abc import Callable

import numpy as np
import pytest

from siloseal.federation.sums.additive.additive_sum import AdditiveSum
from siloseal.federation.sums.in_process import InProcess
from siloseal.federation.sums.masked.silo_side import MaskedSilo
from siloseal.federation.sums.masked.words import ring_for
from siloseal.federation.sums.ring.ring_sum import RingSum
from siloseal.federation.sums.secagg.secagg_sum import SecAggSum
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import IntegerDomain
from tests.federation.sums.recorded import Recorded, drawn_vectors

DOMAIN = IntegerDomain(1000, 2**20)

every_masked_sum = pytest.mark.parametrize("scheme", [SecAggSum(), AdditiveSum(), RingSum()], ids=lambda s: s.name)


def reachable(side: MaskedSilo) -> int:
    """Entries of the vector, or of the array that it is a view of, that the silo's side keeps."""
    words = side._words
    return words.size if words.base is None else max(words.size, np.asarray(words.base).size)


def forgets(parties: InProcess) -> None:
    for side in parties.silos.values():
        side.forget()


def runs_to_its_end(parties: InProcess) -> None:
    parties.finish()


@pytest.mark.parametrize("ends", [forgets, runs_to_its_end])
@every_masked_sum
def test_nothing_of_the_vector_is_kept(scheme: SecureSum, ends: Callable[[InProcess], None]) -> None:
    parties = InProcess(scheme, [np.arange(DOMAIN.length)] * 3, domain=DOMAIN)
    sides = [side for side in parties.silos.values() if isinstance(side, MaskedSilo)]
    assert [reachable(side) for side in sides] == [DOMAIN.length] * 3
    ends(parties)
    assert [reachable(side) for side in sides] == [0] * 3


@every_masked_sum
def test_the_packed_vector_is_in_no_state(scheme: SecureSum) -> None:
    """tests/contracts looks for the vector as it is; here it is looked for as it would travel."""
    parties = Recorded(scheme, drawn_vectors(("east", "north", "south"), DOMAIN), DOMAIN)
    parties.run()
    ring = ring_for(DOMAIN, 3)
    for silo, vector in parties.vectors.items():
        packed = ring.pack(ring.words(vector))
        assert not any(packed[:32] in states[silo] for states in parties.states)
