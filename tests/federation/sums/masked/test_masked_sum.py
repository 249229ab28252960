"""Domains whose sums fit the words of a masked sum, and those whose sums do not."""

from dataclasses import replace

import numpy as np
import pytest

from siloseal.federation.errors import DomainError
from siloseal.federation.sums.additive.additive_sum import AdditiveSum
from siloseal.federation.sums.ring.ring_sum import RingSum
from siloseal.federation.sums.secagg.secagg_sum import SecAggSum
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain
from tests.federation.sums.recorded import Recorded, drawn_vectors

NAMES = ("east", "north", "south", "west")
LARGEST = IntegerDomain(10, 2**61)
"""Sums of three silos fit, sums of four do not."""

every_masked_sum = pytest.mark.parametrize("scheme", [AdditiveSum(), RingSum(), SecAggSum()], ids=lambda s: s.name)


@every_masked_sum
@pytest.mark.parametrize(
    ("domain", "silos"),
    [
        (LARGEST, 4),
        (IntegerDomain(10, 2**62), 3),
        (IntegerDomain(10, 2**55), 256),
        (IntegerDomain(10, 1), 4),
        (IntegerDomain(0, 2**20), 4),
        (RealDomain(10, 1.0), 4),
    ],
    ids=str,
)
def test_a_domain_whose_sums_do_not_fit_is_refused(scheme: SecureSum, domain: Domain, silos: int) -> None:
    with pytest.raises(DomainError):
        scheme.admit(domain, silos)


@every_masked_sum
def test_the_largest_domain_is_refused_just_where_the_headroom_ends(scheme: SecureSum) -> None:
    scheme.admit(LARGEST, 3)
    with pytest.raises(DomainError, match="precision_bits"):
        scheme.admit(LARGEST, 4)


@every_masked_sum
def test_silo_and_aggregator_refuse_what_is_not_admitted(scheme: SecureSum) -> None:
    small = IntegerDomain(10, 2**20)
    parties = Recorded(scheme, drawn_vectors(NAMES, small), small)
    parties.session = replace(parties.session, domain=LARGEST)
    with pytest.raises(DomainError):
        parties.side("east")
    with pytest.raises(DomainError):
        scheme.aggregator(parties.session)


@every_masked_sum
def test_where_the_domain_just_fits_the_sum_is_exact(scheme: SecureSum) -> None:
    result = Recorded(scheme, {name: np.full(10, 2**61 - 1) for name in NAMES[:3]}, LARGEST).run()
    assert result.total.tolist() == [3 * (2**61 - 1) % 2**61] * 10
