"""The aggregator's part: it relays what the silos sign, adds ciphertexts one by one, and never holds a whole key.

The key shares of silos that fall silent after the key was joined are missing at the end, and t survivors or more reveal
what recovers them. A silo whose partial decryption came is never recovered.
"""

from collections.abc import Mapping

import numpy as np

from siloseal.federation.sums.joint_key.encryption import decode_sum
from siloseal.federation.sums.joint_key.keys import SecretShare
from siloseal.federation.sums.joint_key.moduli import ring_of
from siloseal.federation.sums.joint_key.parameters import Parameters
from siloseal.federation.sums.joint_key.seed_shares import join_shares
from siloseal.federation.sums.joint_key.statements import (
    Round,
    check_ciphertext_commitments,
    check_key_commitments,
    check_key_shares,
    check_opening,
    check_silence_signatures,
    require_half,
)
from siloseal.federation.sums.joint_key.wire import add_bytes, check_polynomials, polynomial_bytes
from siloseal.federation.sums.rlwe.values import largest_value, to_total
from siloseal.federation.sums.rounds import AggregatorRounds, Bodies, pieces, read_pieces
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import joint_key_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode


class JointKeyAggregator(AggregatorRounds):
    """The aggregator's side. See the module's text."""

    def __init__(self, session: Session, *, parameters: Parameters, precision_bits: int, threshold: int) -> None:
        super().__init__(session)
        self._parameters = parameters
        self._precision_bits, self._threshold = precision_bits, threshold
        self._fewest = max(threshold, session.quorum)
        self._seed_digests = dict[str, bytes]()  # of every silo whose share is in the joint key
        self._key_commitments_said: Bodies = {}
        self._key_digest = b""
        self._commitments = dict[str, pb.CiphertextCommitment]()
        self._ciphertexts_said: Bodies = {}
        self._contributors: tuple[str, ...] = ()
        self._missing: list[str] = []
        ring = ring_of(parameters.degree)
        self._c0 = np.zeros((parameters.messages, len(ring.primes) - 1, ring.degree), dtype=np.uint64)
        self._c1 = np.zeros((parameters.groups, len(ring.primes), ring.degree), dtype=np.uint64)

    def _check(self, number: int, silo: str, body: bytes) -> None:
        session = self._session
        match number:
            case Round.COMMIT_KEY:
                check_key_commitments(session, {silo: body})
            case Round.REVEAL_KEY:
                share = decode(pb.KeyReveal, body).share
                check_key_shares(session, self._key_commitments_said, {silo: share})
                self._check_polynomials(share.polynomials, self._parameters.keys)
            case Round.COMMIT_CIPHERTEXT:
                check_ciphertext_commitments(session, self._key_digest, {silo: body})
            case Round.UPLOAD:
                upload, committed = decode(pb.CiphertextUpload, body), self._commitments[silo]
                c1 = require_half(session, silo, upload.c1, committed.c1_digest)
                self._check_polynomials(c1, self._parameters.groups)
                c0 = require_half(session, silo, upload.c0, committed.c0_digest)
                self._check_polynomials(c0, self._parameters.messages, divided=True)
            case Round.OPEN:
                opening = decode(pb.JointKeyOpening, body)
                self._check_polynomials(opening.polynomials, self._parameters.messages, divided=True)
                check_opening(session, silo, opening, {name: self._ciphertexts_said[name] for name in self._asked})
            case Round.CONFIRM:
                check_silence_signatures(session, {silo: body}, self._missing)
            case Round.RECOVER:
                read_pieces(body, known=self._missing, fewest=len(self._missing))

    def _largest(self, number: int) -> int:
        """Bytes of the round's polynomials, and of digests, signatures and one sealed share for each silo."""
        ring, parameters = ring_of(self._parameters.degree), self._parameters
        whole, divided = polynomial_bytes(ring), polynomial_bytes(ring, divided=True)
        polynomials: dict[int, int] = {
            Round.REVEAL_KEY: parameters.keys * whole,
            Round.UPLOAD: parameters.groups * whole + parameters.messages * divided,
            Round.OPEN: parameters.messages * divided,
        }
        return polynomials.get(number, 0) + 256 * (1 + len(self._session.roster))

    def _advance(self, number: int, replies: Bodies) -> Mapping[str, bytes] | Sum:
        steps = (
            self._key_commitments,
            self._key_shares,
            self._ciphertexts,
            self._uploads,
            self._openings,
            self._confirmed,
            self._recovered,
        )
        return steps[number](number, replies)

    def _check_polynomials(self, data: bytes, count: int, *, divided: bool = False) -> None:
        check_polynomials(ring_of(self._parameters.degree), data, count, divided=divided)

    def _needed(self, number: int) -> int:
        """Number of silos that can recover the others; before the opening at least the quorum."""
        return self._fewest if number < Round.OPEN else self._threshold

    def _key_commitments(self, number: int, replies: Bodies) -> Mapping[str, bytes]:
        self._key_commitments_said = self._bodies(number, replies)
        check_key_commitments(self._session, self._key_commitments_said)  # all together: no channel key twice
        return self._relay(number + 1, self._key_commitments_said)

    def _key_shares(self, number: int, replies: Bodies) -> Mapping[str, bytes]:
        said = self._bodies(number, replies)
        shares = {silo: decode(pb.KeyReveal, body).share for silo, body in said.items()}
        self._key_digest = check_key_shares(self._session, self._key_commitments_said, shares)
        self._seed_digests = {silo: share.seed_digest for silo, share in shares.items()}
        return self._relay(number + 1, said)

    def _ciphertexts(self, number: int, replies: Bodies) -> Mapping[str, bytes]:
        said = self._bodies(number, replies)
        self._commitments = {silo: decode(pb.CiphertextCommitment, body) for silo, body in said.items()}
        self._ciphertexts_said = said
        return self._relay(number + 1, said)

    def _uploads(self, number: int, replies: Bodies) -> Mapping[str, bytes]:
        """Add one silo's ciphertext after the other; only the c1 halves, which are the smaller part, are kept."""
        ring = ring_of(self._parameters.degree)
        halves = dict[str, bytes]()
        for silo, reply in replies.items():
            upload = decode(pb.CiphertextUpload, self._body(number, reply))
            halves[silo] = upload.c1
            add_bytes(ring, self._c0, upload.c0, divided=True)
            add_bytes(ring, self._c1, upload.c1)
        self._contributors = tuple(sorted(halves))
        return self._ask(number + 1, dict.fromkeys(self._contributors, pieces(halves)))

    def _openings(self, number: int, replies: Bodies) -> Mapping[str, bytes] | Sum:
        ring = ring_of(self._parameters.degree)
        signatures = dict[str, bytes]()
        for silo, reply in replies.items():
            opening = decode(pb.JointKeyOpening, self._body(number, reply))
            add_bytes(ring, self._c0, opening.polynomials, divided=True)
            signatures[silo] = opening.signature
        self._missing = sorted(set(self._seed_digests) - set(replies))
        if not self._missing:
            return self._sum()
        opened = [sums_pb2.Piece(silo=silo, data=signature) for silo, signature in sorted(signatures.items())]
        silence = pb.JointKeySilence(missing=self._missing, opened=opened)
        return self._ask(number + 1, dict.fromkeys(sorted(replies), silence.SerializeToString()))

    def _confirmed(self, number: int, replies: Bodies) -> Mapping[str, bytes]:
        """Tell everyone who confirms the list of silent silos."""
        return self._relay(number + 1, self._bodies(number, replies))

    def _recovered(self, number: int, replies: Bodies) -> Sum:
        """Compute the missing silos' partial decryptions from their seeds."""
        held = {
            holder: read_pieces(body, known=self._missing, fewest=len(self._missing))
            for holder, body in self._bodies(number, replies).items()
        }
        for silo in self._missing:
            shares = {holder: given[silo] for holder, given in held.items()}
            seed = join_shares(self._session, silo, shares, self._threshold, self._seed_digests[silo])
            recovered = SecretShare(seed).decrypt_for_missing(self._parameters, self._c1)
            ring_of(self._parameters.degree).add(self._c0, recovered)
        return self._sum()

    def _sum(self) -> Sum:
        domain, count = self._session.domain, len(self._contributors)
        values = decode_sum(self._parameters, self._c0, count * largest_value(domain, self._precision_bits))
        total, error_bound = to_total(domain, values, count, self._precision_bits)
        return Sum(total, self._contributors, error_bound)
