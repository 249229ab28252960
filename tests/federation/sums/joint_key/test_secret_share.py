"""Secrets: that they do not get out, that a share serves once, and what it answers."""

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.errors import ShareReused
from siloseal.federation.randomness import SecureRandomness, SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.secret import Secret
from siloseal.federation.sums.joint_key.keys import SEED_BYTES, SecretShare, common_polynomial, seed_digest
from siloseal.federation.sums.joint_key.moduli import ring_of
from siloseal.federation.sums.joint_key.parameters import Parameters
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.sums.rlwe.uniform import expand_uniform
from siloseal.federation.sums.sealing import ChannelKey
from siloseal.federation.sums.session import RealDomain, Session

SEED = bytes(range(64, 128))  # printable, so that it would be seen
SIZES = Parameters(2, 5 * 8192 - 3, 8192, 20, 1, 80, keys=2)
"""Five messages under two keys: three groups, the last of them with one message."""

RING = ring_of(SIZES.degree)
COMMON = expand_uniform(RING, b"common")
C1 = np.stack([expand_uniform(RING, bytes([group])) for group in range(SIZES.groups)])

SECRETS: dict[str, Callable[[], Secret]] = {
    "SecretShare": lambda: SecretShare(SEED),
    "ChannelKey": lambda: ChannelKey(SEED[:32]),
    "Identity": lambda: Identity.create("north"),
}


def centred(divided: Residues) -> np.ndarray:
    """Small signed coefficients of evaluated, divided polynomials; all primes must agree on them."""
    residues = RING.interpolate(divided, np.ones(len(RING.primes) - 1, dtype=np.uint64), divided=True).astype(np.int64)
    primes = RING.primes[:-1].astype(np.int64)[:, None]
    signed = np.where(residues > primes // 2, residues - primes, residues)
    assert (signed == signed[:, :1]).all()
    return signed[:, 0]


def difference(first: Residues, second: Residues) -> Residues:
    primes = RING.primes[: first.shape[-2], None]
    return (first + (primes - second)) % primes


@pytest.mark.parametrize("make", SECRETS.values(), ids=SECRETS.keys())
class TestEverySecret:
    def test_it_prints_its_type_and_nothing_else(self, make: Callable[[], Secret]) -> None:
        secret = make()
        for text in (repr(secret), str(secret), f"{secret}", f"{[secret]}"[1:-1]):
            assert text == f"{type(secret).__name__}(<secret>)"

    def test_it_has_no_dictionary_that_could_be_printed(self, make: Callable[[], Secret]) -> None:
        assert not hasattr(make(), "__dict__")

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_it_is_not_pickled(self, make: Callable[[], Secret], protocol: int) -> None:
        with pytest.raises(TypeError, match="secret"):
            pickle.dumps(make(), protocol=protocol)

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy], ids=["copy", "deepcopy"])
    def test_it_is_not_copied(self, make: Callable[[], Secret], copied: Callable[[object], object]) -> None:
        with pytest.raises(TypeError, match="secret"):
            copied(make())
        with pytest.raises(TypeError, match="secret"):
            copy.deepcopy([make()])


def test_an_opened_share_is_spent() -> None:
    share = SecretShare(SEED)
    assert not share.spent
    share.partial_decrypt(SIZES, C1, SecureRandomness())
    assert share.spent
    with pytest.raises(ShareReused):
        share.partial_decrypt(SIZES, C1, SecureRandomness())
    with pytest.raises(ShareReused):
        _ = share.seed
    with pytest.raises(ShareReused):
        share.decrypt_for_missing(SIZES, C1)
    with pytest.raises(ShareReused):
        share.public_share(SIZES, COMMON, SecureRandomness())


def test_a_share_is_spent_before_the_answer_exists() -> None:
    class Interrupted(SecureRandomness):
        def bits(self, count: int) -> NoReturn:
            raise KeyboardInterrupt

    share = SecretShare(SEED)
    with pytest.raises(KeyboardInterrupt):
        share.partial_decrypt(SIZES, C1, Interrupted())
    with pytest.raises(ShareReused):
        share.partial_decrypt(SIZES, C1, SecureRandomness())


@pytest.mark.parametrize("length", [0, 32, 63, 65])
def test_a_seed_of_the_wrong_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"{length} bytes"):
        SecretShare(bytes(length))


def test_a_drawn_share_has_a_seed_of_its_own() -> None:
    first, second = (SecretShare.draw(SecureRandomness()).seed for _ in range(2))
    assert len(first) == len(second) == SEED_BYTES == 64
    assert first != second


def test_making_the_public_half_does_not_spend_the_share() -> None:
    share = SecretShare(SEED)
    share.public_share(SIZES, COMMON, SecureRandomness())
    assert share.seed == SEED


def test_the_same_seed_gives_the_same_secret_and_another_seed_another() -> None:
    """A recovered seed answers as its silo would have, but for the flooding. Residues coincide once in 2^60."""
    answers = [SecretShare(seed).decrypt_for_missing(SIZES, C1) for seed in (SEED, SEED, SEED[:-1] + b"!")]
    np.testing.assert_array_equal(answers[0], answers[1])
    assert not (answers[0] == answers[2]).any()


def test_each_key_polynomial_has_a_secret_of_its_own() -> None:
    same = np.repeat(C1[:1], SIZES.groups, axis=0)
    answers = SecretShare(SEED).decrypt_for_missing(SIZES, same)
    np.testing.assert_array_equal(answers[0], answers[2])  # key 0 of groups 0 and 1
    assert not (answers[0] == answers[1]).any()


def test_each_message_is_answered_for_the_c1_of_its_own_group() -> None:
    answers = SecretShare(SEED).decrypt_for_missing(SIZES, C1)
    one_group = replace(SIZES, length=2 * 8192)
    for group, c1 in enumerate(C1):
        alone = SecretShare(SEED).decrypt_for_missing(one_group, c1[None])
        mine = answers[2 * group : 2 * group + 2]
        np.testing.assert_array_equal(mine, alone[: len(mine)])


def test_the_public_half_is_the_secret_times_a_plus_small_errors() -> None:
    """b - a s, read through the answer for c1 = a: rounded to 0 by the division, unless a factor of the last prime is
    put in first. False alarm with one seed in a million."""
    one_each = replace(SIZES, length=2 * 8192)
    times = np.full((len(RING.primes), SIZES.degree), RING.divisor, dtype=np.uint64) % RING.primes[:, None]
    share = SecretShare(SEED)
    public = share.public_share(one_each, COMMON, SeededRandomness(1))
    c1 = RING.multiply_add(COMMON[None], times, None)
    minus_product = share.decrypt_for_missing(one_each, c1)
    public = RING.multiply_add(public, times, None, divide=True)
    RING.add(public, minus_product)
    errors = centred(public)
    assert errors.shape == (2, 8192)
    assert np.abs(errors).max() <= 21
    low, high = stats.norm.interval(1 - 1e-6, loc=10.5, scale=math.sqrt((2 * 10.5**2 - 10.5 / 2) / errors.size))
    assert low < (errors.astype(np.float64) ** 2).mean() < high


def test_two_public_halves_of_one_share_have_different_errors() -> None:
    share, randomness = SecretShare(SEED), SecureRandomness()
    first, second = (share.public_share(SIZES, COMMON, randomness) for _ in range(2))
    assert not (first == second).any()


def test_an_answer_differs_from_the_product_by_the_flooding_alone() -> None:
    """Divided, it is within 2^f / q and two roundings; and uniform there, so that it comes near both ends: 5 * 8192
    coefficients all stay below 99 % with probability 10^-89."""
    product = SecretShare(SEED).decrypt_for_missing(SIZES, C1)
    answer = SecretShare(SEED).partial_decrypt(SIZES, C1, SeededRandomness(1))
    flooding = centred(difference(answer, product))
    reach = 2**SIZES.flooding_bits / RING.divisor
    assert flooding.shape == (5, 8192)
    assert -reach - 1 <= flooding.min() < -0.99 * reach
    assert 0.99 * reach < flooding.max() <= reach + 1
    assert stats.kstest(flooding.reshape(-1), stats.uniform(-reach, 2 * reach).cdf).pvalue > 1e-6


def test_a_digest_tells_one_seed_from_another() -> None:
    flipped = bytes([SEED[0] ^ 1]) + SEED[1:]
    assert seed_digest(SEED) == seed_digest(bytes(SEED)) != seed_digest(flipped)
    assert len(seed_digest(SEED)) == 32


def test_the_common_polynomial_belongs_to_one_session() -> None:
    """Two residues of 60 bits coincide with probability 2^-60."""
    keys = tuple(Identity.create(name).public for name in ("east", "north"))
    session = Session(bytes(32), ("east", "north"), RealDomain(10, 1.0), "ckks", 2, keys)
    mine = common_polynomial(session, SIZES)
    np.testing.assert_array_equal(mine, common_polynomial(replace(session), SIZES))
    for other in (replace(session, id=bytes([1] * 32)), replace(session, domain=RealDomain(10, 2.0))):
        assert not (common_polynomial(other, SIZES) == mine).any()
