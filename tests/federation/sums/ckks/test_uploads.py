"""What a silo uploads is its own: copies, replays and alterations are refused when they come in."""

from collections.abc import Callable

import pytest

from siloseal.federation.errors import MessageError, OpeningFailed, UploadCopied
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.ckks.uploads import sign_upload
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.transport.wire import ckks_pb2
from siloseal.federation.transport.wire.codec import decode
from tests.federation.sums.recorded import identity

from .conftest import Parties

PartiesOf = Callable[..., Parties]


@pytest.fixture
def uploaded(parties: Parties) -> dict[str, bytes]:
    """Everyone's upload, before the aggregator has seen any."""
    return parties.answer(parties.run_until(Round.UPLOAD))


def test_honest_uploads_pass_and_pass_again(parties: Parties, uploaded: dict[str, bytes]) -> None:
    """A silo whose receipt was lost delivers the same once more."""
    for _ in range(2):
        for name, reply in uploaded.items():
            parties.aggregator.check(name, reply)
    parties.aggregator.advance(uploaded)


def test_another_silos_upload_is_refused(parties: Parties, uploaded: dict[str, bytes]) -> None:
    with pytest.raises(UploadCopied):
        parties.aggregator.check("west", uploaded["east"])


@pytest.mark.parametrize("part", ["ciphertext", "masked_key"])
@pytest.mark.parametrize("first", ["east", "west"])
def test_a_copied_part_is_refused_even_under_the_copiers_own_signature(
    parties: Parties, uploaded: dict[str, bytes], part: str, first: str
) -> None:
    """Whoever comes second: the aggregator cannot know which of the two is the copy."""
    stolen, mine = parties.upload(uploaded["east"]), parties.upload(uploaded["west"])
    setattr(mine, part, getattr(stolen, part))
    sign_upload(parties.session, identity("west"), mine)
    replies = {"east": uploaded["east"], "west": parties.wrapped(mine)}
    second = "east" if first == "west" else "west"
    parties.aggregator.check(first, replies[first])
    with pytest.raises(UploadCopied):
        parties.aggregator.check(second, replies[second])


def test_copies_that_nobody_checked_when_they_came_in_are_not_added(
    parties: Parties, uploaded: dict[str, bytes]
) -> None:
    stolen = parties.upload(uploaded["east"])
    sign_upload(parties.session, identity("west"), stolen)
    with pytest.raises(UploadCopied):
        parties.aggregator.advance({**uploaded, "west": parties.wrapped(stolen)})


def test_an_upload_of_another_session_is_refused(
    parties_of: PartiesOf, parties: Parties, uploaded: dict[str, bytes]
) -> None:
    other = parties_of(id=1, seed=1)
    other.run()
    earlier = other.upload(other.said[Round.UPLOAD]["east"])
    with pytest.raises(UploadCopied):
        parties.aggregator.check("east", parties.wrapped(earlier))


@pytest.mark.parametrize("part", ["ciphertext", "masked_key", "signature"])
def test_one_flipped_bit_is_refused(parties: Parties, uploaded: dict[str, bytes], part: str) -> None:
    upload = parties.upload(uploaded["east"])
    altered = bytearray(getattr(upload, part))
    altered[17] ^= 4
    setattr(upload, part, bytes(altered))
    with pytest.raises(UploadCopied):
        parties.aggregator.check("east", parties.wrapped(upload))


def test_a_strangers_signature_is_refused(parties: Parties, uploaded: dict[str, bytes]) -> None:
    upload = parties.upload(uploaded["east"])
    sign_upload(parties.session, Identity.create("east"), upload)
    with pytest.raises(UploadCopied):
        parties.aggregator.check("east", parties.wrapped(upload))


@pytest.mark.parametrize("wrong", [b"", b"short", bytes(10**6)])
@pytest.mark.parametrize("part", ["ciphertext", "masked_key"])
def test_a_part_of_another_size_is_refused_though_it_is_signed(
    parties: Parties, uploaded: dict[str, bytes], part: str, wrong: bytes
) -> None:
    upload = parties.upload(uploaded["east"])
    setattr(upload, part, wrong)
    sign_upload(parties.session, identity("east"), upload)
    with pytest.raises(MessageError):
        parties.aggregator.check("east", parties.wrapped(upload))


def test_what_was_refused_keeps_no_honest_upload_out(parties: Parties, uploaded: dict[str, bytes]) -> None:
    """A copy with a residue out of range is refused for that, and must not count as the first of the two."""
    stolen = parties.upload(uploaded["east"])
    nonsense = ckks_pb2.CkksUpload(ciphertext=b"\xff" * len(stolen.ciphertext), masked_key=stolen.masked_key)
    sign_upload(parties.session, identity("west"), nonsense)
    with pytest.raises(MessageError):
        parties.aggregator.check("west", parties.wrapped(nonsense))
    parties.aggregator.check("east", uploaded["east"])


def test_a_ciphertext_under_another_key_share_than_was_sent_shows_when_the_sum_is_opened(parties_of: PartiesOf) -> None:
    """The sum cannot be opened, and nothing of it comes out: see parameters.py."""

    other = parties_of(seed=1)
    other.run()

    def swap(number: int, silo: str, body: bytes) -> bytes:
        if (number, silo) != (Round.UPLOAD, "west"):
            return body
        false = other.upload(other.said[number]["west"])
        false.masked_key = decode(ckks_pb2.CkksUpload, body).masked_key
        return sign_upload(parties.session, identity("west"), false)

    parties = parties_of()
    with pytest.raises(OpeningFailed):
        parties.run(reply=swap)


def test_of_two_copies_that_come_at_once_one_at_least_is_refused(parties: Parties, uploaded: dict[str, bytes]) -> None:
    """Deliveries come in threads of their own: here the second comes while the first is being compared."""
    stolen = parties.upload(uploaded["east"])
    sign_upload(parties.session, identity("west"), stolen)
    refused = list[str]()

    class Meanwhile(dict[str, object]):
        def copy(self) -> dict[str, object]:
            if "west" not in self:
                check("west", parties.wrapped(stolen))
            return dict(self)

    def check(name: str, reply: bytes) -> None:
        try:
            parties.aggregator.check(name, reply)
        except UploadCopied:
            refused.append(name)

    parties.aggregator.__dict__["_seen"] = Meanwhile()
    check("east", uploaded["east"])
    assert refused == ["west"]
