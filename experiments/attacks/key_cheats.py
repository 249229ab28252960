"""The cheat of an aggregator that follows the protocol exactly, and then computes."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from siloseal.experiments.attacks import joint_key_recovery, key_recovery
from siloseal.experiments.attacks.attacked_sum import ROSTER, VICTIM, AttackedSum, DoesNotApply, Messages, Way
from siloseal.federation.sums.ckks.aggregator_side import CkksAggregator
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.ckks.wire import rows
from siloseal.federation.sums.joint_key.aggregator_side import JointKeyAggregator
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.joint_key.moduli import ring_of
from siloseal.federation.sums.joint_key.wire import from_bytes
from siloseal.federation.sums.one_key.aggregator_side import OneKeyAggregator
from siloseal.federation.sums.one_key.one_key_sum import PaillierSum, StockCkksSum
from siloseal.federation.sums.one_key.statements import Round as OneKeyRound
from siloseal.federation.sums.one_key.stock_parameters import SLOTS
from siloseal.federation.sums.rlwe.values import largest_value, to_total
from siloseal.federation.sums.rounds import Bodies
from siloseal.federation.sums.secagg.plan import Round as SecAggRound
from siloseal.federation.sums.secure_sum import SecureSum, Sum
from siloseal.federation.sums.session import RealDomain, Vector
from siloseal.federation.transport.wire import ckks_pb2, joint_key_pb2
from siloseal.federation.transport.wire.codec import decode

LONG = RealDomain(key_recovery.EQUATIONS * SLOTS, 8.0)
"""Domain of vectors with as many entries as the equations need."""


def longer_domain(scheme: SecureSum) -> RealDomain | None:
    """Return the domain of longer vectors, for sums from which there is something to compute."""
    return LONG if isinstance(scheme, StockCkksSum | JointKeySum) else None


def solves_for_key(attacked: AttackedSum) -> Iterator[Way]:
    """Compute the secret key from the summed ciphertext and from what it was opened to; then read the victim's upload.

    Li and Micciancio (2021). Against the joint key the aggregator tries the same with the sum of all openings. In the
    key-additive sum it is given a key, that of the sum, and tries it on the victim's upload.
    """
    match scheme := attacked.integers:
        case StockCkksSum():
            yield lambda: [_under_one_key(attacked, scheme)]
        case JointKeySum():
            yield lambda: [_under_a_joint_key(attacked, scheme)]
        case CkksSum():
            yield lambda: [_under_the_key_of_the_sum(attacked, scheme)]
        case PaillierSum():
            raise DoesNotApply("decryption is exact: what is told is the sum, and carries no noise")
        case _:
            raise DoesNotApply("nothing is encrypted under a key that the opening could show")


class OneKeyWatching(OneKeyAggregator):
    """Keeps the uploads, and the ciphertext of the sum."""

    uploads: Bodies

    def _advance(self, number: int, replies: Bodies) -> Messages | Sum:
        if number == OneKeyRound.UPLOAD:
            self.uploads = self._bodies(number, replies)
        return super()._advance(number, replies)

    @property
    def summed(self) -> bytes:
        """Ciphertext of the sum."""
        return self._ciphertext


class JointKeyWatching(JointKeyAggregator):
    """Keeps the uploads, and their sum apart from the openings."""

    uploads: Bodies

    def _uploads(self, number: int, replies: Bodies) -> Messages:
        self.uploads = self._bodies(number, replies)
        asked = super()._uploads(number, replies)
        self._summed = self._c0.copy()
        return asked

    def first_key(self) -> NDArray[np.int64]:
        """The first polynomial of the joint key, as solved for."""
        primes = ring_of(self._parameters.degree).primes[:-1, None]
        openings = (self._c0[0] + (primes - self._summed[0])) % primes
        return joint_key_recovery.solve_for_joint_key(self._parameters, self._c1[0], openings)


class CkksWatching(CkksAggregator):
    """Keeps the uploads as they are, and the key that it is given."""

    uploads: Bodies

    def _uploads(self, replies: Bodies) -> Messages:
        self.uploads = self._bodies(SecAggRound.UPLOAD, replies)
        return super()._uploads(replies)

    def _unmask(self, replies: Bodies) -> Sum:
        self._ciphertexts[:] = list(
            rows(self._parameters, decode(ckks_pb2.CkksUpload, self.uploads[VICTIM]).ciphertext)
        )
        return super()._unmask(replies)


def _under_the_key_of_the_sum(attacked: AttackedSum, scheme: CkksSum) -> Vector:
    return attacked.drive(CkksWatching(scheme.setting(attacked.session))).total


def _under_one_key(attacked: AttackedSum, scheme: StockCkksSum) -> Vector:
    cipher = scheme.cipher(attacked.domain, len(ROSTER))
    total = attacked.drive(side := OneKeyWatching(attacked.session, cipher)).total
    return key_recovery.decrypt(cipher, side.uploads[VICTIM], key_recovery.recover_key(cipher, side.summed, total))


def _under_a_joint_key(attacked: AttackedSum, scheme: JointKeySum) -> Vector:
    parameters, bits = scheme.parameters(attacked.domain, len(ROSTER)), scheme.precision_bits
    side = JointKeyWatching(attacked.session, parameters=parameters, precision_bits=bits, threshold=len(ROSTER))
    attacked.drive(side)
    ring, upload = ring_of(parameters.degree), decode(joint_key_pb2.CiphertextUpload, side.uploads[VICTIM])
    c0, c1 = from_bytes(ring, upload.c0, divided=True)[0], from_bytes(ring, upload.c1)[0]
    values = joint_key_recovery.decrypt(parameters, c0, c1, side.first_key(), largest_value(attacked.domain, bits))
    return to_total(attacked.domain, values, 1, bits)[0]
