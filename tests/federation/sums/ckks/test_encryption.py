"""Ciphertexts: their noise as derived, what opens them, and SEAL's own word for it."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from tenseal import sealapi

from siloseal.federation.errors import OpeningFailed, ShareReused
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.ckks.encryption import KeyShare, common_polynomials, open_sum
from siloseal.federation.sums.ckks.packing import pack
from siloseal.federation.sums.ckks.parameters import Parameters, derive
from siloseal.federation.sums.ckks.sampling import draw_short
from siloseal.federation.sums.ckks.security import VARIANCE
from siloseal.federation.sums.ckks.wire import rows
from siloseal.federation.sums.rlwe import seal_codec
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.sums.session import RealDomain, Session

SILOS = 4
LENGTHS = {"one part of a polynomial": 900, "several polynomials and a part": 170_000}


def session_of(length: int) -> Session:
    roster = tuple(f"silo{number}" for number in range(SILOS))
    keys = tuple(Identity.create(name).public for name in roster)
    return Session(bytes(32), roster, RealDomain(length, 1.0), "ckks", SILOS, keys)


def sizes_of(length: int) -> Parameters:
    return derive(RealDomain(length, 1.0), SILOS, precision_bits=16)


def encrypted(session: Session, sizes: Parameters) -> tuple[Residues, NDArray[np.int64], NDArray[np.int64]]:
    """The sum of all silos' ciphertexts, of their keys and of their values."""
    total = np.zeros((len(sizes.prime_bits), sizes.coefficients), dtype=np.uint64)
    keys, values = np.zeros(sizes.degree, dtype=np.int64), np.zeros(sizes.length, dtype=np.int64)
    for number in range(SILOS):
        randomness = SeededRandomness(number)
        entries = draw_short(randomness, sizes.degree)
        mine = np.random.default_rng(number).integers(0, sizes.largest, sizes.length, endpoint=True)
        data = KeyShare(entries.copy()).encrypt(session, sizes, mine, randomness)
        sizes.ring.add(total, np.stack(list(rows(sizes, data))))
        keys += entries
        values += mine
    return total, keys, values


@pytest.mark.parametrize("length", LENGTHS.values(), ids=LENGTHS)
class TestASumOfCiphertexts:
    def test_opens_under_the_sum_of_the_keys(self, length: int) -> None:
        session, sizes = session_of(length), sizes_of(length)
        total, keys, values = encrypted(session, sizes)
        np.testing.assert_array_equal(open_sum(session, sizes, total, keys, SILOS), values)

    def test_has_the_summed_errors_below_its_values_and_nothing_else(self, length: int) -> None:
        """Their variance is n sigma^2, within 5 deviations of its estimate (1e-6), and they stay below the floor."""
        session, sizes = session_of(length), sizes_of(length)
        total, keys, values = encrypted(session, sizes)
        ring = sizes.ring
        products = ring.multiply(
            common_polynomials(session, sizes, range(sizes.groups)), ring.evaluate(ring.small(keys[None]))[0]
        )
        masks = products.transpose(1, 0, 2).reshape(len(ring.primes), -1)[:, : sizes.coefficients]
        placed = np.zeros(sizes.values * sizes.coefficients, dtype=np.int64)
        placed[: sizes.length] = values
        messages = _packed(sizes, placed.reshape(sizes.values, -1))
        prime = int(ring.primes[0])
        errors = (total[0].astype(object) - masks[0].astype(object) - messages[0].astype(object)) % prime
        errors = np.array([error - prime if error > prime // 2 else error for error in errors], dtype=np.float64)
        assert np.abs(errors).max() <= sizes.floor // 2
        assert abs(errors.var() / (SILOS * VARIANCE) - 1) < 5 * math.sqrt(2 / errors.size)

    def test_does_not_open_under_a_key_that_is_off_by_one_in_one_entry(self, length: int) -> None:
        session, sizes = session_of(length), sizes_of(length)
        total, keys, _ = encrypted(session, sizes)
        keys[5] += 1
        with pytest.raises(OpeningFailed):
            open_sum(session, sizes, total, keys, SILOS)

    def test_does_not_open_in_another_session(self, length: int) -> None:
        session, sizes = session_of(length), sizes_of(length)
        total, keys, _ = encrypted(session, sizes)
        with pytest.raises(OpeningFailed):
            open_sum(session_of(length), sizes, total, keys, SILOS)  # with other identity keys

    def test_seals_own_decryptor_opens_it(self, length: int) -> None:
        """(sum c, -a) is a CKKS ciphertext under S, so SEAL computes sum c - a S from it."""
        session, sizes = session_of(length), sizes_of(length)
        total, keys, _ = encrypted(session, sizes)
        ring, context = sizes.ring, seal_context(sizes)
        level = _parms_id(context.first_context_data().parms_id())
        decryptor = sealapi.Decryptor(context, seal_secret_key(context, sizes, keys))
        common = common_polynomials(session, sizes, range(sizes.groups))
        whole = np.zeros((sizes.groups, len(ring.primes), sizes.degree), dtype=np.uint64)
        for group in range(sizes.groups):
            part = total[:, group * sizes.degree : (group + 1) * sizes.degree]
            whole[group, :, : part.shape[1]] = part
        minus = (ring.primes[:, None] - common) % ring.primes[:, None]
        ours = ring.multiply_add(common, ring.evaluate(ring.small(-keys[None]))[0], whole)
        for group, c0 in enumerate(ring.evaluate(whole)):
            ciphertext = seal_codec.ciphertext(context, level, np.stack([c0, minus[group]]), ntt=True)
            plaintext = sealapi.Plaintext()
            decryptor.decrypt(ciphertext, plaintext)
            theirs = np.array([plaintext[index] for index in range(plaintext.coeff_count())], dtype=np.uint64)
            np.testing.assert_array_equal(theirs.reshape(ours[group].shape), ours[group])


def _packed(sizes: Parameters, values: NDArray[np.int64]) -> Residues:
    """Values of the sum as coefficients, in parts that one silo could have."""
    total = np.zeros((len(sizes.prime_bits), values.shape[1]), dtype=np.uint64)
    rest = values.copy()
    while rest.any():
        part = np.minimum(rest, sizes.largest)
        sizes.ring.add(total, pack(sizes, part))
        rest -= part
    return total


def seal_context(sizes: Parameters) -> sealapi.SEALContext:
    """SEAL's context, made here from the primes' sizes and a small one for key switching, which SEAL wants."""
    parameters = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.CKKS)
    parameters.set_poly_modulus_degree(sizes.degree)
    parameters.set_coeff_modulus(sealapi.CoeffModulus.Create(sizes.degree, [*sizes.prime_bits, 18]))
    return sealapi.SEALContext(parameters, True, sealapi.SEC_LEVEL_TYPE.TC128)


def seal_secret_key(context: sealapi.SEALContext, sizes: Parameters, key: NDArray[np.int64]) -> sealapi.SecretKey:
    """A short polynomial as SEAL's secret key. Decryption leaves the row of the small prime alone."""
    ring = sizes.ring
    residues = np.vstack([ring.evaluate(ring.small(key[None]))[0], np.ones((1, sizes.degree), dtype=np.uint64)])
    fields = seal_codec._PLAINTEXT.pack(_parms_id(context.key_parms_id()), residues.size, 1.0)
    return seal_codec._load(sealapi.SecretKey(), context, fields, residues)


def _parms_id(words: list[int]) -> bytes:
    return np.array(words, dtype="<u8").tobytes()


class TestAKeyShare:
    def test_encrypts_once(self) -> None:
        session, sizes, randomness = session_of(900), sizes_of(900), SeededRandomness(1)
        share = KeyShare.draw(sizes, randomness)
        values = np.zeros(900, dtype=np.int64)
        share.encrypt(session, sizes, values, randomness)
        with pytest.raises(ShareReused):
            share.encrypt(session, sizes, values, randomness)
        with pytest.raises(ShareReused):
            share.reduced(9)

    def test_is_spent_even_where_encryption_fails(self) -> None:
        session, sizes, randomness = session_of(900), sizes_of(900), SeededRandomness(1)
        share = KeyShare.draw(sizes, randomness)
        with pytest.raises(ValueError, match="broadcast"):
            share.encrypt(session, sizes, np.zeros(10**6, dtype=np.int64), randomness)
        with pytest.raises(ShareReused):
            share.reduced(9)

    def test_does_not_print(self) -> None:
        assert repr(KeyShare.draw(sizes_of(900), SeededRandomness(1))) == "KeyShare(<secret>)"

    def test_two_ciphertexts_of_one_vector_have_nothing_in_common(self) -> None:
        session, sizes, randomness = session_of(900), sizes_of(900), SeededRandomness(1)
        values = np.zeros(900, dtype=np.int64)
        one, other = (
            np.stack(list(rows(sizes, KeyShare.draw(sizes, randomness).encrypt(session, sizes, values, randomness))))
            for _ in range(2)
        )
        assert not (one == other).any()


def test_common_polynomials_differ_by_group_and_by_session() -> None:
    sizes = sizes_of(170_000)
    first, second = (common_polynomials(session_of(170_000), sizes, range(2)) for _ in range(2))
    assert not (first[0] == first[1]).any()
    assert not (first == second).any()
