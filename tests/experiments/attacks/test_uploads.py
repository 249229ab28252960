"""Uploads are read rightly: with masks, seal or key taken away the vector comes out, and with them nothing does.

Without these controls a reading that finds nothing would say nothing about the protection.
"""

import numpy as np
import pytest

from siloseal.experiments.attacks.uploads import NONCE_BYTES, TAG_BYTES, ReadableSum, Reals, read_upload
from siloseal.federation.sums.ckks import encryption
from siloseal.federation.sums.ckks.config import CkksSumConfig
from siloseal.federation.sums.ckks.parameters import Parameters
from siloseal.federation.sums.config import (
    AdditiveSumConfig,
    PlainSumConfig,
    RingSumConfig,
    SecAggConfig,
    SecAggPlusConfig,
)
from siloseal.federation.sums.masked.words import WordRing
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.sums.sealing import ChannelKey
from siloseal.federation.sums.session import Session

VECTOR: Reals = np.linspace(-1.0, 1.0, 3_000) ** 3
HIDING: list[ReadableSum] = [
    SecAggConfig(kind="secagg"),
    SecAggPlusConfig(kind="secagg_plus"),
    AdditiveSumConfig(kind="additive"),
    RingSumConfig(kind="ring"),
    CkksSumConfig(kind="ckks"),
]


def kind_of(config: ReadableSum) -> str:
    return config.kind


@pytest.fixture
def nothing_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """No masks, messages without a seal, and 1 as the public polynomial a: keys and what they hide are then small."""
    monkeypatch.setattr(WordRing, "add_masks", lambda self, words, masks: None)
    monkeypatch.setattr(
        ChannelKey, "seal", lambda self, receiver, message, context: bytes(NONCE_BYTES) + message + bytes(TAG_BYTES)
    )
    monkeypatch.setattr(ChannelKey, "unseal", lambda self, sender, sealed, context: sealed[NONCE_BYTES:-TAG_BYTES])
    monkeypatch.setattr(encryption, "common_polynomials", _one)


def _one(session: Session, parameters: Parameters, groups: range) -> Residues:
    """1 at every point at which polynomials are evaluated."""
    return np.ones((len(groups), len(parameters.prime_bits), parameters.degree), dtype=np.uint64)


@pytest.mark.parametrize("config", HIDING, ids=kind_of)
def test_a_scheme_that_does_not_hide_gives_the_vector_away(config: ReadableSum, nothing_hidden: None) -> None:
    np.testing.assert_allclose(read_upload(config, VECTOR, bound=1.0), VECTOR - VECTOR.mean(), atol=1e-6)


def test_a_plain_upload_is_the_vector() -> None:
    """In single precision, and on a grid of 2^-48 of the bound."""
    found = read_upload(PlainSumConfig(kind="plain"), VECTOR, bound=1.0)
    np.testing.assert_allclose(found, VECTOR, rtol=2.0**-24, atol=2.0**-49)


@pytest.mark.parametrize("config", HIDING, ids=kind_of)
def test_what_is_hidden_has_nothing_of_the_vector(config: ReadableSum) -> None:
    """The correlation of 3,000 numbers with anything else exceeds 0.11 with probability 2e-9."""
    found = read_upload(config, VECTOR, bound=1.0)
    assert abs(np.corrcoef(found, VECTOR)[0, 1]) < 0.11
