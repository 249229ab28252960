"""The aggregator's part of a sum under one key: it carries sealed keys, adds ciphertexts, and asks for their sum.

It holds no key.
"""

from collections.abc import Mapping

from siloseal.federation.errors import CommitmentBroken, MessageError, OpeningFailed, QuorumLost, WrongRound
from siloseal.federation.records.identity import check_signature
from siloseal.federation.sums.masked.advertisement import ADVERTISEMENT_BYTES, check_advertisements
from siloseal.federation.sums.one_key.cipher import Adder, Cipher
from siloseal.federation.sums.one_key.statements import Round, digest_of, leader, opening_statement
from siloseal.federation.sums.rounds import AggregatorRounds, Bodies, named, pieces
from siloseal.federation.sums.sealing import SEAL_BYTES
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import RealDomain, Session, Vector
from siloseal.federation.transport.wire import one_key_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import FRAMING_BYTES, decode, from_array

_DIGEST_BYTES = 32


class OneKeyAggregator(AggregatorRounds):
    """The aggregator's side. See the module's text."""

    def __init__(self, session: Session, cipher: Cipher) -> None:
        super().__init__(session)
        self._cipher = cipher
        self._advertised: Bodies = {}
        self._adder: Adder | None = None
        self._ciphertext, self._digest = b"", b""  # of the sum, and of what the silos opened
        self._contributors: tuple[str, ...] = ()

    def _needed(self, number: int) -> int:
        return 1 if number in (Round.DRAW_KEY, Round.TELL) else self._session.quorum

    def _largest(self, number: int) -> int:
        cipher, silos = self._cipher, len(self._session.roster)
        sizes = {
            Round.ADVERTISE: ADVERTISEMENT_BYTES,
            Round.DRAW_KEY: (silos + 1) * (cipher.key_bytes + SEAL_BYTES + FRAMING_BYTES),
            Round.UPLOAD: cipher.ciphertext_bytes,
            Round.OPEN: FRAMING_BYTES,
            Round.TELL: 8 * self._session.domain.length,
        }
        return sizes[Round(number)] + FRAMING_BYTES

    def _check(self, number: int, silo: str, body: bytes) -> None:
        match number:
            case Round.ADVERTISE:
                check_advertisements(self._session, {silo: body}, keys=1)
            case Round.DRAW_KEY:
                self._handed_out(body)
            case Round.UPLOAD:
                self._own_adder().check(body)
            case Round.OPEN:
                self._opening(silo, body)
            case Round.TELL:
                self._checked_total(silo, body)

    def _advance(self, number: int, replies: Bodies) -> Mapping[str, bytes] | Sum:
        said = self._bodies(number, replies)
        match number:
            case Round.ADVERTISE:
                return self._ask_for_a_key(said)
            case Round.DRAW_KEY:
                (body,) = said.values()
                return self._pass_on(*self._handed_out(body))
            case Round.UPLOAD:
                self._contributors = tuple(sorted(said))
                self._ciphertext = self._own_adder().add(said.values())
                return self._ask(Round.OPEN, dict.fromkeys(said, self._ciphertext))
            case Round.OPEN:
                return self._compare({silo: self._opening(silo, body) for silo, body in said.items()})
            case _:
                ((silo, body),) = said.items()
                bound = self._cipher.error_bound(len(self._contributors))
                return Sum(self._checked_total(silo, body), self._contributors, bound)

    def _ask_for_a_key(self, said: Bodies) -> Mapping[str, bytes]:
        check_advertisements(self._session, said, keys=1)  # all together: no key twice
        first = leader(self._session)
        if first not in said:
            raise QuorumLost(
                f"{first} is silent, who draws the key of this sum; begin another without it on the roster"
            )
        self._advertised = said
        return self._ask(Round.DRAW_KEY, {first: pieces(said)})

    def _handed_out(self, body: bytes) -> tuple[Adder, Bodies]:
        handout, others = decode(pb.OneKeyHandout, body), set(self._advertised) - {leader(self._session)}
        return self._cipher.adder(handout.public_key), named(handout.sealed, known=others, fewest=len(others))

    def _pass_on(self, adder: Adder, sealed: Bodies) -> Mapping[str, bytes]:
        self._adder, first = adder, leader(self._session)
        keys = {
            silo: pb.SealedKey(advertisement=self._advertised[first], sealed=key).SerializeToString()
            for silo, key in sealed.items()
        }
        return self._ask(Round.UPLOAD, {first: b"", **keys})

    def _opening(self, silo: str, body: bytes) -> bytes:
        """Return the digest of what the silo opened, which it signed together with what it was given."""
        opening, session = decode(pb.OneKeyOpening, body), self._session
        if len(opening.digest) != _DIGEST_BYTES:
            raise MessageError(f"{silo} sent a digest of {len(opening.digest)} bytes, expected {_DIGEST_BYTES}")
        statement = opening_statement(session, self._ciphertext, opening.digest)
        check_signature(silo, session.identity(silo), opening.signature, statement)
        return opening.digest

    def _compare(self, digests: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Check that all opened the same, as one key does with one ciphertext. Any of them may tell what it found."""
        if len(set(digests.values())) > 1:
            raise OpeningFailed(
                f"{', '.join(sorted(digests))} opened one ciphertext and do not agree on what is in it: one of them is "
                "lying, or they hold different keys, or run different builds of the cipher; begin another sum"
            )
        teller = min(digests, key=self._session.places.__getitem__)
        self._digest = digests[teller]
        return self._ask(Round.TELL, {teller: b""})

    def _checked_total(self, silo: str, body: bytes) -> Vector:
        domain, array = self._session.domain, decode(sums_pb2.Array, body)
        if digest_of(array.data) != self._digest:
            raise CommitmentBroken(f"{silo} tells another sum than the one that the silos opened and signed")
        if isinstance(domain, RealDomain):
            return from_array(array, dtype="<f8", length=domain.length)
        return domain.check(from_array(array, dtype="<i8", length=domain.length))

    def _own_adder(self) -> Adder:
        if self._adder is None:
            raise WrongRound("nobody has drawn a key yet")
        return self._adder
