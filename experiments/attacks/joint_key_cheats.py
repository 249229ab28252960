"""Cheats of an accomplice in the joint-key sum, where it must commit to its key share and ciphertext beforehand."""

from collections.abc import Callable

import numpy as np

from siloseal.experiments.attacks import joint_key_recovery
from siloseal.experiments.attacks.accomplices import ACCOMPLICE, bodies, memory_of, remember, saying
from siloseal.experiments.attacks.attacked_sum import ROSTER, VICTIM, AttackedSum, Messages
from siloseal.experiments.attacks.key_cheats import JointKeyWatching
from siloseal.experiments.attacks.upload_formats import JointKeyFormat, Numbers
from siloseal.federation.sums.joint_key import statements
from siloseal.federation.sums.joint_key.encryption import decode_sum
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.joint_key.moduli import ring_of
from siloseal.federation.sums.joint_key.wire import add_bytes, from_bytes, to_bytes
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.sums.rlwe.values import largest_value, to_total
from siloseal.federation.sums.rounds import Bodies
from siloseal.federation.sums.sealing import ChannelKey
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import Vector
from siloseal.federation.transport.wire import joint_key_pb2 as pb
from siloseal.federation.transport.wire.codec import decode


class JointKeyReading(JointKeyWatching):
    """Reads the joint key off what the silos opened, and opens the victim's upload with it."""

    def _sum(self) -> Sum:
        key = -joint_key_recovery.read_multiples(self._parameters, self._c0[0])
        c0, c1 = self._of_the_victim()
        values = joint_key_recovery.decrypt(self._parameters, c0, c1, key, self._largest_value())
        return self._sum_of(values)

    def _of_the_victim(self) -> tuple[Residues, Residues]:
        ring, upload = ring_of(self._parameters.degree), decode(pb.CiphertextUpload, self.uploads[VICTIM])
        return from_bytes(ring, upload.c0, divided=True)[0], from_bytes(ring, upload.c1)[0]

    def _largest_value(self) -> int:
        return largest_value(self._session.domain, self._precision_bits)

    def _sum_of(self, values: Vector) -> Sum:
        total, error_bound = to_total(self._session.domain, values.astype(np.int64), 1, self._precision_bits)
        return Sum(total, (VICTIM,), error_bound)


class JointKeyOfUs(JointKeyReading):
    """Reads the sum of the silos' one-time polynomials u, and tries it as the victim's own."""

    _joint_key: Residues

    def _key_shares(self, number: int, replies: Bodies) -> Messages:
        sizes, ring = self._parameters, ring_of(self._parameters.degree)
        self._joint_key = np.zeros((sizes.keys, len(ring.primes), ring.degree), dtype=np.uint64)
        for body in self._bodies(number, replies).values():
            add_bytes(ring, self._joint_key, decode(pb.KeyReveal, body).share.polynomials)
        return super()._key_shares(number, replies)

    def _sum(self) -> Sum:
        """Try u on the victim's upload: c0 = b u + e0 + m, so that c0 - b u would be its message."""
        ring = ring_of(self._parameters.degree)
        minus = ring.evaluate(ring.small(-joint_key_recovery.read_multiples(self._parameters, self._c0[0])[None]))
        opened = ring.multiply_add(self._joint_key[:1], minus[0], None, divide=True)
        ring.add(opened, self._of_the_victim()[0][None])
        return self._sum_of(decode_sum(self._parameters, opened, self._largest_value()))


def reading(side: type[JointKeyReading], attacked: AttackedSum, scheme: JointKeySum) -> JointKeyReading:
    """Return an aggregator's side that reads."""
    parameters, threshold = scheme.parameters(attacked.domain, len(ROSTER)), scheme.fewest(len(ROSTER))
    return side(attacked.session, parameters=parameters, precision_bits=scheme.precision_bits, threshold=threshold)


def commit_changed(
    attacked: AttackedSum, form: JointKeyFormat, replies: dict[str, bytes], change: Callable[[Numbers], Numbers]
) -> dict[str, bytes]:
    """Replace the accomplice's ciphertext before it commits to it."""
    memory = memory_of(attacked, pb.JointKeySiloState)
    changed = form.write(change(form.read(memory.ciphertext.SerializeToString())))
    memory.ciphertext.CopyFrom(decode(pb.CiphertextUpload, changed))
    me = attacked.identities[ACCOMPLICE]
    committed = statements.sign_ciphertext(attacked.session, me, memory.joint_key_digest, memory.ciphertext)
    return _commit(attacked, replies, memory, committed)


def commit_as_the_victim(attacked: AttackedSum, replies: dict[str, bytes]) -> dict[str, bytes]:
    """Sign the victim's digests: what the accomplice will upload depends on uploads that nobody has seen yet."""
    memory = memory_of(attacked, pb.JointKeySiloState)
    committed = decode(pb.CiphertextCommitment, bodies(attacked, statements.Round.COMMIT_CIPHERTEXT, replies)[VICTIM])
    digests = committed.c0_digest, committed.c1_digest
    statement = attacked.session.bind("commit_ciphertext", ACCOMPLICE.encode(), memory.joint_key_digest, *digests)
    committed.signature = attacked.identities[ACCOMPLICE].sign(statement)
    return _commit(attacked, replies, memory, committed)


def malform_key_share(attacked: AttackedSum, form: JointKeyFormat, replies: dict[str, bytes]) -> dict[str, bytes]:
    """Add Delta to the public key share: every c0 then carries Delta u, and what is opened the sum of the u's."""
    memory, ring = memory_of(attacked, pb.JointKeySiloState), ring_of(form.parameters.degree)
    polynomials = from_bytes(ring, memory.share.polynomials).copy()
    delta = joint_key_recovery.reading_step(form.parameters) * ring.divisor
    shift = np.array([delta % int(prime) for prime in ring.primes], dtype=np.uint64)[:, None]
    ring.add(polynomials, np.broadcast_to(shift, polynomials.shape))
    memory.share.polynomials = to_bytes(polynomials)
    me, channel = attacked.identities[ACCOMPLICE], ChannelKey(memory.channel_key)
    committed = statements.sign_key_commitment(attacked.session, me, channel.public, memory.share)
    memory.commitments[0].data = committed.SerializeToString()
    remember(attacked, memory)
    return saying(attacked, statements.Round.COMMIT_KEY, replies, memory.commitments[0].data)


def _commit(
    attacked: AttackedSum, replies: dict[str, bytes], memory: pb.JointKeySiloState, committed: pb.CiphertextCommitment
) -> dict[str, bytes]:
    memory.ciphertexts[0].data = committed.SerializeToString()
    remember(attacked, memory)
    return saying(attacked, statements.Round.COMMIT_CIPHERTEXT, replies, memory.ciphertexts[0].data)
