"""No lists of survivors, however they differ, open a sum of a few silos: what the text of `graph.py` derives."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from siloseal.federation.errors import DomainError, QuorumLost
from siloseal.federation.sums.envelope import unwrap, wrap
from siloseal.federation.sums.secagg.graph import Shape, find_shape, whole_silos
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.secagg.secagg_sum import RandomRing
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode

from .conftest import Parties

PLACES = 14


def most_corrupted(shape: Shape, silos: int, fraction: float, bits: int) -> int:
    """c of the text of `graph.py`: more corrupted neighbours than this come up with half of 2^-bits over all silos."""
    counts = np.arange(shape.degree + 1)
    exceeded = stats.hypergeom.sf(counts, silos, whole_silos(fraction, silos), shape.degree)
    return int(counts[exceeded <= 2.0 ** -(bits + 1) / silos].min())


def near(marked: NDArray[np.bool_], degree: int) -> NDArray[np.int64]:
    """How many of the neighbours of each place are marked: (..., places)."""
    offsets = [offset for offset in range(-degree // 2, degree // 2 + 1) if offset]
    return np.asarray(sum(np.roll(marked, offset, axis=-1).astype(np.int64) for offset in offsets))


def opens_two_lists(degree: int, threshold: int, cheats: NDArray[np.bool_]) -> bool:
    """Whether some way to tell lists opens one silo by two lists, or two neighbours by one each.

    Cheats sign both lists and reveal for both. An honest silo signs the list that it was told.
    """
    told = np.arange(2**PLACES)[:, None] >> np.arange(PLACES) & 1  # (ways, places)
    shares, near_cheats = list[NDArray[np.int64]](), near(cheats, degree)
    for a_list in (0, 1):
        signed = (told == a_list) & ~cheats
        reveals = signed & (near(signed, degree) + near_cheats >= threshold)  # t others have signed the same
        shares.append(near(reveals, degree))
    opened = ~cheats & (shares[0] + shares[1] + near_cheats >= threshold)
    first, second = (opened & (count > 0) for count in shares)
    return bool(np.any(first & (second | (near(second, degree) > 0))))


@pytest.mark.parametrize("silos", [100, 130, 300, 1000, 10_000])
@pytest.mark.parametrize("corrupt", [0.0, 0.02, 0.05, 0.1, 0.2, 0.3])
@pytest.mark.parametrize("bits", [40, 80])
def test_every_shape_fulfils_the_inequalities_of_the_derivation(silos: int, corrupt: float, bits: int) -> None:
    for dropout in (0.0, 0.02, 0.05, 0.1):
        try:
            shape = find_shape(
                silos,
                security_bits=bits,
                correctness_bits=30,
                corrupt=corrupt,
                dropout=dropout,
            )
        except DomainError:
            assert corrupt + dropout > 0.1, "a common shape is missing"
            continue
        k, t, c = shape.degree, shape.threshold, most_corrupted(shape, silos, corrupt, bits)
        assert 2 * t > k + c, "one of two secrets"
        assert 3 * t > 2 * k + 2 * c + 1, "a seed is opened under one list"
        assert k >= 2 * c + 2
        assert 4 * t > 2.5 * k + 3 * c + 1, "two neighbouring opened silos share one list"
        assert k / 4 + k - t + c < t, "outsiders on both sides"
        assert k / 2 + 1 + c < t or (k == 2 * c + 2 and t == k), "outsiders on one side, or the edge case"


def test_the_edge_case_is_where_nobody_may_drop_out_and_there_a_silo_needs_all_sealed_shares() -> None:
    ring = RandomRing(dropout=0.0)
    parties = Parties(100, ring=ring)
    shape = ring.shape(100)
    c = most_corrupted(shape, 100, ring.corrupt, ring.security_bits)
    assert (shape.degree, shape.threshold) == (2 * c + 2, 2 * c + 2)
    requests = parties.run_until(Round.UPLOAD)
    sealed = decode(sums_pb2.Pieces, unwrap(parties.session, round=2 * Round.UPLOAD, data=requests["silo000"]))
    assert len(sealed.pieces) == shape.degree
    sealed.pieces.pop()
    with pytest.raises(QuorumLost):
        parties.silos["silo000"].answer(
            wrap(parties.session, round=2 * Round.UPLOAD, body=sealed.SerializeToString(deterministic=True))
        )
    assert parties.silos["silo001"].answer(requests["silo001"])


@pytest.mark.parametrize(
    ("degree", "corrupted"), [(4, ()), (4, (0, 6)), (6, ()), (6, (0, 7)), (6, (0, 1, 7, 8))], ids=str
)
def test_lists_that_differ_open_nothing_at_the_least_threshold_and_something_below_it(
    degree: int, corrupted: tuple[int, ...]
) -> None:
    """Each of 14 silos is told one of two lists, in every way that there is."""
    cheats = np.isin(np.arange(PLACES), corrupted)
    most = int(near(cheats, degree)[~cheats].max())
    least = (2 * degree + 2 * most + 1) // 3 + 1
    assert not opens_two_lists(degree, least, cheats)
    assert opens_two_lists(degree, least - 1, cheats)
