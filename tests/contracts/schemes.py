"""The secure sums that contracts run over, and sessions of them."""

from collections.abc import Mapping
from functools import cache

from siloseal.federation.sums.additive.config import AdditiveSumConfig
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.config import SumKind
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.joint_key.statements import Round as JointKeyRound
from siloseal.federation.sums.one_key.config import StockCkksConfig
from siloseal.federation.sums.one_key.one_key_sum import FixedPointPaillier, PaillierSum
from siloseal.federation.sums.one_key.statements import Round as OneKeyRound
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.ring.config import RingSumConfig
from siloseal.federation.sums.secagg.config import SecAggConfig, SecAggPlusConfig
from siloseal.federation.sums.secagg.plan import Round as SecAggRound
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain
from tests.federation.sums.recorded import Recorded, drawn_vectors

INSECURE_TEST_KEY_BITS = 1024

PLAIN = PlainSum()
CKKS = CkksSum()
JOINT_KEY = JointKeySum()
SECAGG = SecAggConfig(kind="secagg").build()
SECAGG_PLUS = SecAggPlusConfig(kind="secagg_plus").build()
ADDITIVE = AdditiveSumConfig(kind="additive").build()
RING = RingSumConfig(kind="ring").build()
PAILLIER = FixedPointPaillier(PaillierSum(INSECURE_TEST_KEY_BITS), precision_bits=24)
STOCK_CKKS = StockCkksConfig(kind="ckks_one_key").build()

SCHEME_OF_KIND: dict[SumKind, SecureSum] = {
    "plain": PLAIN,
    "ckks": CKKS,
    "ckks_joint_key": JOINT_KEY,
    "secagg": SECAGG,
    "secagg_plus": SECAGG_PLUS,
    "additive": ADDITIVE,
    "ring": RING,
    "paillier": PAILLIER,
    "ckks_one_key": STOCK_CKKS,
}
"""The scheme that the contracts try for each kind of a job; `test_kinds.py` fails where a kind has none."""

ALL_SCHEMES: list[SecureSum] = list(SCHEME_OF_KIND.values())

ONE_KEY: list[SecureSum] = [PAILLIER, STOCK_CKKS]
"""Sums whose first silo draws a key for all, so that no sum opens without it."""

HIDING: list[SecureSum] = [scheme for scheme in ALL_SCHEMES if scheme is not PLAIN]

ROUNDS = {
    PLAIN: 1,
    CKKS: 5,
    JOINT_KEY: 7,
    SECAGG: 5,
    SECAGG_PLUS: 5,
    ADDITIVE: 3,
    RING: 6,
    PAILLIER: 5,
    STOCK_CKKS: 5,
}
"""Number of rounds that a sum of four silos has at most."""

UPLOAD_ROUND: dict[SecureSum, int | None] = {
    PLAIN: 0,
    CKKS: SecAggRound.UPLOAD,
    JOINT_KEY: JointKeyRound.UPLOAD,
    SECAGG: SecAggRound.UPLOAD,
    SECAGG_PLUS: SecAggRound.UPLOAD,
    ADDITIVE: None,
    RING: None,
    PAILLIER: OneKeyRound.UPLOAD,
    STOCK_CKKS: OneKeyRound.UPLOAD,
}
"""Round in which a silo uploads: the sum is over those that did. None if every silo must stay, so that none is left out."""

LARGEST_MODULUS = {
    PLAIN: 2**60,
    CKKS: 2**57,
    JOINT_KEY: 2**40,
    SECAGG: 2**60,
    SECAGG_PLUS: 2**60,
    ADDITIVE: 2**60,
    RING: 2**60,
    PAILLIER: 2**60,
    STOCK_CKKS: 2**32,
}
"""The largest modulus that is tried; the schemes' own tests look for the very largest that they carry."""

ROSTER = ("east", "north", "south", "west")
REALS = RealDomain(length=300, bound=8.0)
INTEGERS = IntegerDomain(length=300, modulus=2**20)
SHORT = IntegerDomain(length=40, modulus=2**20)


def name_of(scheme: SecureSum) -> str:
    """Name of a parametrized test."""
    return scheme.name


def begin(
    scheme: SecureSum, domain: Domain = REALS, *, names: tuple[str, ...] = ROSTER, quorum: int = 3, id: int = 0
) -> Recorded:
    """Four silos, of whom three are enough where the scheme lets one go."""
    return Recorded(scheme, drawn_vectors(names, domain, seed=5), domain, quorum=quorum, id=id)


def silent_for_all_rounds(scheme: SecureSum) -> Mapping[str, int]:
    """Who falls silent, and when, so that the session has every round that the scheme knows; all are in the sum."""
    return {ROSTER[-1]: JointKeyRound.OPEN} if scheme is JOINT_KEY else {}


@cache
def finished(scheme: SecureSum, id: int = 0) -> Recorded:
    """A session that ran to its end, in every round that the scheme knows. Only to be read: tests share it."""
    parties = begin(scheme, SHORT, id=id)
    parties.run(silent=silent_for_all_rounds(scheme))
    return parties
