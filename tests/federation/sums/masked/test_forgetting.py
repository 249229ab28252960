"""What a silo that has dropped its vector still holds of it: nothing."""

from collections.abc import Callable

import numpy as np
import pytest

from siloseal.federation.sums.additive.additive_sum import AdditiveSum
from siloseal.federation.sums.in_process import InProcess
from siloseal.federation.sums.masked.silo_side import MaskedSilo
from siloseal.federation.sums.ring.ring_sum import RingSum
from siloseal.federation.sums.secagg.secagg_sum import SecAggSum
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import IntegerDomain

DOMAIN = IntegerDomain(1000, 2**20)


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
@pytest.mark.parametrize("scheme", [SecAggSum(), AdditiveSum(), RingSum()], ids=lambda scheme: scheme.name)
def test_nothing_of_the_vector_is_kept(scheme: SecureSum, ends: Callable[[InProcess], None]) -> None:
    parties = InProcess(scheme, [np.arange(DOMAIN.length)] * 3, domain=DOMAIN)
    sides = [side for side in parties.silos.values() if isinstance(side, MaskedSilo)]
    assert [reachable(side) for side in sides] == [DOMAIN.length] * 3
    ends(parties)
    assert [reachable(side) for side in sides] == [0] * 3
