"""Cheats of an accomplice that uploads something else than its own vector, having seen what all others uploaded.

Under one key none of them is needed: the accomplice holds the key. In the ring a silo sees only what is sealed for it.
The plain sum is read by looking.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from siloseal.experiments.attacks import joint_key_cheats
from siloseal.experiments.attacks.accomplices import ACCOMPLICE, bodies, enlist, memory_of, read_with_its_key, saying
from siloseal.experiments.attacks.attacked_sum import OTHERS, ROSTER, VICTIM, AttackedSum, DoesNotApply, NotTaught, Way
from siloseal.experiments.attacks.joint_key_cheats import JointKeyReading
from siloseal.experiments.attacks.key_cheats import CkksWatching
from siloseal.experiments.attacks.lying_aggregators import unchecked
from siloseal.experiments.attacks.upload_formats import (
    CkksFormat,
    JointKeyFormat,
    MaskedFormat,
    Numbers,
    PlainFormat,
    UploadFormat,
)
from siloseal.federation.sums.additive.additive_sum import AdditiveSum
from siloseal.federation.sums.additive.sides import Round as AdditiveRound
from siloseal.federation.sums.additive.sides import shared_ring
from siloseal.federation.sums.ckks.aggregator_side import CkksAggregator
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.joint_key import statements
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.masked.silo_side import sealed_share_context
from siloseal.federation.sums.masked.words import ring_for
from siloseal.federation.sums.one_key.one_key_sum import OneKeySum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.ring.ring_sum import RingSum
from siloseal.federation.sums.ring.sides import ADVERTISE, FIRST
from siloseal.federation.sums.sealing import ChannelKey
from siloseal.federation.sums.secagg.plan import Round as SecAggRound
from siloseal.federation.sums.secagg.secagg_sum import SecAggSum
from siloseal.federation.sums.secure_sum import AggregatorSide, SecureSum
from siloseal.federation.sums.session import Vector
from siloseal.federation.transport.wire import ckks_pb2, masked_pb2
from siloseal.federation.transport.wire.codec import decode

Choice = Callable[[UploadFormat, Numbers, Mapping[str, Numbers]], Numbers]
"""Function that chooses the accomplice's upload, from what its own side would upload and from everyone's uploads."""


@dataclass(frozen=True)
class Change:
    """A change that the accomplice makes to its upload."""

    choose: Choice
    blind: bool
    """Whether the accomplice can choose before it has seen any other upload, and so commit to it."""


MALFORMED = Change(lambda form, mine, uploads: (mine + form.constant) % form.moduli, blind=True)
COPIED = Change(lambda form, mine, uploads: uploads[VICTIM], blind=False)
CONSTANT = Change(lambda form, mine, uploads: form.constant, blind=True)
LONG_KEY = Change(lambda form, mine, uploads: (mine + _long_key(form)) % form.moduli, blind=True)


def _cancelling(form: UploadFormat, mine: Numbers, uploads: Mapping[str, Numbers]) -> Numbers:
    others = [uploads[silo] for silo in OTHERS if silo != ACCOMPLICE]
    total: Numbers = np.sum(others, axis=0, dtype=np.uint64) % form.moduli
    return (form.moduli - total) % form.moduli


CANCELLING = Change(_cancelling, blind=False)


class CkksAccepting(CkksAggregator):
    """An aggregator's side that adds whatever comes, copies included."""

    def _own_upload(self, silo: str, body: bytes) -> ckks_pb2.CkksUpload:
        return decode(ckks_pb2.CkksUpload, body)

    def _compare(self, silo: str, upload: ckks_pb2.CkksUpload) -> None:
        pass


class CkksTryingKey(CkksAccepting, CkksWatching):
    """An aggregator's side that tries the key that comes out on the victim's upload."""


def malformed_c1(attacked: AttackedSum) -> Iterator[Way]:
    """Add a large constant to the part of the ciphertext that key shares are multiplied by, or to all of it.

    Where silos open what they are given, the constant times the key comes out; see `joint_key_recovery`.
    """
    if not isinstance(attacked.integers, CkksSum | JointKeySum | OneKeySum):
        raise DoesNotApply("nothing is encrypted, so that there is no c1")
    yield from uploads_instead(attacked, MALFORMED)


def copies_upload(attacked: AttackedSum) -> Iterator[Way]:
    """Upload what the victim uploaded, which would count twice."""
    if isinstance(attacked.integers, RingSum):
        enlist(attacked)
        yield lambda: _in_the_ring(attacked, None)
    else:
        yield from uploads_instead(attacked, COPIED)


def cancels_upload(attacked: AttackedSum) -> Iterator[Way]:
    """Upload minus what all others but the victim uploaded, so that the victim's is left."""
    if isinstance(attacked.integers, RingSum):
        raise DoesNotApply("no upload is seen alone: what a silo is passed is a total already")
    yield from uploads_instead(attacked, CANCELLING)


def constant_upload(attacked: AttackedSum) -> Iterator[Way]:
    """Upload a constant instead of anything masked or encrypted."""
    if isinstance(attacked.integers, RingSum):
        enlist(attacked)
        yield lambda: _in_the_ring(attacked, 1)
    else:
        yield from uploads_instead(attacked, CONSTANT)


def uploads_instead(attacked: AttackedSum, change: Change) -> Iterator[Way]:
    """Yield the ways to have a changed upload opened, with all that the scheme's aggregator can do about it."""
    enlist(attacked)
    match scheme := attacked.integers:
        case OneKeySum():
            yield lambda: read_with_its_key(attacked, scheme)
        case CkksSum():
            for side in (CkksAccepting, CkksTryingKey):
                yield partial(_play, attacked, side(scheme.setting(attacked.session)), change)
                attacked.meet()
        case JointKeySum() if change.blind:
            yield lambda: _play(attacked, joint_key_cheats.reading(JointKeyReading, attacked, scheme), change)
        case _:
            yield lambda: _play(attacked, attacked.scheme.aggregator(attacked.session), change)


def _play(attacked: AttackedSum, side: AggregatorSide, change: Change) -> list[Vector]:
    form = format_of(attacked, attacked.integers)

    def carry(number: int, replies: dict[str, bytes]) -> dict[str, bytes]:
        if isinstance(form, JointKeyFormat) and number == statements.Round.COMMIT_CIPHERTEXT:
            if change.blind:
                return joint_key_cheats.commit_changed(
                    attacked, form, replies, lambda own: change.choose(form, own, {})
                )
            return joint_key_cheats.commit_as_the_victim(attacked, replies)
        committed = isinstance(form, JointKeyFormat) and change.blind  # its own side uploads what it committed to
        if number != form.number or committed:
            return replies
        uploads = {silo: form.read(body) for silo, body in bodies(attacked, number, replies).items()}
        return saying(attacked, number, replies, form.write(change.choose(form, uploads[ACCOMPLICE], uploads)))

    return [attacked.drive(unchecked(side), carry=carry).total]


def format_of(attacked: AttackedSum, scheme: SecureSum) -> UploadFormat:
    """Return the format by which uploads of the session are read and written."""
    silos = len(ROSTER)
    match scheme:
        case PlainSum():
            return PlainFormat(attacked.domain)
        case AdditiveSum():
            return MaskedFormat(shared_ring(attacked.domain, silos), AdditiveRound.ADD)
        case SecAggSum():
            return MaskedFormat(ring_for(attacked.domain, silos), SecAggRound.UPLOAD)
        case CkksSum():
            return CkksFormat(scheme.setting(attacked.session), attacked.identities[ACCOMPLICE])
        case JointKeySum():
            return JointKeyFormat(scheme.parameters(attacked.domain, silos))
        case OneKeySum() | RingSum():
            raise DoesNotApply(f"uploads of {scheme.name} are not read as numbers")
        case _:
            raise NotTaught(scheme, "upload_cheats.format_of")


def _in_the_ring(attacked: AttackedSum, constant: int | None) -> list[Vector]:
    """Pass on a constant under the accomplice's seal; for None, the victim's sealed total as if it were its own."""
    session, ring, known = attacked.session, ring_for(attacked.domain, len(ROSTER)), dict[str, bytes]()

    def carry(number: int, replies: dict[str, bytes]) -> dict[str, bytes]:
        said = bodies(attacked, number, replies)
        if number == ADVERTISE:
            known["mine"] = memory_of(attacked, masked_pb2.MaskedSiloState).channel_key
            (known["victim's"],) = decode(masked_pb2.Advertisement, said[VICTIM]).keys
        if number == FIRST:
            known["sealed"] = said[VICTIM]
        if ACCOMPLICE not in replies or number == ADVERTISE:
            return replies
        if constant is None:
            return saying(attacked, number, replies, known["sealed"])
        packed = ring.pack(ring.words(np.full(ring.length, constant)))
        context = sealed_share_context(session, ACCOMPLICE, VICTIM)
        return saying(attacked, number, replies, ChannelKey(known["mine"]).seal(known["victim's"], packed, context))

    return [attacked.drive(unchecked(attacked.scheme.aggregator(session)), carry=carry).total]


def _long_key(form: UploadFormat) -> Numbers:
    if not isinstance(form, CkksFormat):
        raise DoesNotApply("no key share goes up with the upload")
    return form.long_key
