"""The encrypted sum from the first message to the total. What it shares with SecAgg is tested there, for both.

What it shares with every sum is in tests/contracts.
"""

import numpy as np
import pytest

from siloseal.federation.errors import DomainError
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.ckks.config import CkksSumConfig
from siloseal.federation.sums.ckks.parameters import derive
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.session import RealDomain
from siloseal.federation.transport.wire import masked_pb2
from siloseal.federation.transport.wire.codec import decode

from .conftest import NAMES, Parties


@pytest.mark.parametrize("number", [number for number in Round if number])
def test_a_silo_that_was_killed_goes_on_with_fresh_randomness(parties: Parties, number: Round) -> None:
    """Before the upload it draws another key share, which nobody has seen the first of."""
    parties.run_until(number)
    parties.restart("north", parties.randomness_of("north", seed=9))
    result = parties.run()
    assert np.abs(result.total - parties.total()).max() <= result.error_bound


def test_after_the_upload_neither_key_share_nor_vector_is_left_at_the_silo(parties: Parties) -> None:
    parties.run_until(Round.CONFIRM)
    kept = parties.silos["north"].__dict__
    assert kept["_key_share"] is None
    assert kept["_values"].size == 0
    assert kept["_words"].size == 0
    state = decode(masked_pb2.MaskedSiloState, parties.states[Round.UPLOAD]["north"])
    assert [state.channel_key, state.mask_key, state.seed] == [b""] * 3


def test_a_key_share_is_never_in_the_state(parties: Parties) -> None:
    """It is drawn again after a crash: the longest state holds shares of others, and is shorter than a key share."""
    parties.run()
    assert max(len(states["north"]) for states in parties.states) < parties.parameters.key_bytes / 4


@pytest.mark.parametrize("length", [1, 63, 577, 20_000])
@pytest.mark.parametrize("bits", [8, 28, 40])
def test_any_length_and_precision_gives_the_sum(length: int, bits: int) -> None:
    draw = np.random.default_rng(length)
    vectors = {name: draw.uniform(-1, 1, length) for name in NAMES}
    result = sum_in_process(CkksSum(bits), vectors, domain=RealDomain(length, 1.0))
    assert np.abs(result.total - np.sum(list(vectors.values()), axis=0)).max() <= result.error_bound
    assert result.error_bound < 4 * 2.0**-bits


@pytest.mark.parametrize(("length", "silos", "bits", "floor"), [(10**6, 10, 16, 2.54), (10**6, 10, 28, 4.04)])
def test_a_ciphertext_is_within_three_percent_of_the_information_in_it(
    length: int, silos: int, bits: int, floor: float
) -> None:
    found = derive(RealDomain(length, 1.0), silos, precision_bits=bits)
    assert floor < found.ciphertext_bytes / length < 1.03 * floor


def test_a_job_may_choose_precision_and_threshold() -> None:
    scheme = CkksSumConfig(kind="ckks", precision_bits=20, threshold=4).build()
    assert scheme.fewest(5) == 4
    assert scheme.grid(RealDomain(1, 1.0)) == pytest.approx(2.0**-20, rel=1e-4)
    with pytest.raises(DomainError):
        scheme.admit(RealDomain(10, 1.0), 8)
