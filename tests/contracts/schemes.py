"""The secure sums that contracts run over, and sessions of them."""

from collections.abc import Mapping
from functools import cache

from siloseal.federation.sums.additive.config import AdditiveSumConfig
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.one_key.config import StockCkksConfig
from siloseal.federation.sums.one_key.one_key_sum import FixedPointPaillier, PaillierSum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.ring.config import RingSumConfig
from siloseal.federation.sums.secagg.config import SecAggConfig, SecAggPlusConfig
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain
from tests.federation.sums.joint_key.rounds import OPEN
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

ALL_SCHEMES: list[SecureSum] = [
    PLAIN,
    CKKS,
    JOINT_KEY,
    SECAGG,
    SECAGG_PLUS,
    ADDITIVE,
    RING,
    PAILLIER,
    STOCK_CKKS,
]
"""A new scheme adds one entry."""

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
    return {ROSTER[-1]: OPEN} if scheme is JOINT_KEY else {}


@cache
def finished(scheme: SecureSum, id: int = 0) -> Recorded:
    """A session that ran to its end, in every round that the scheme knows. Only to be read: tests share it."""
    parties = begin(scheme, SHORT, id=id)
    parties.run(silent=silent_for_all_rounds(scheme))
    return parties
