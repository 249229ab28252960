"""What a silo uploads is its own: copies, replays and alterations are refused when they come in."""

from collections.abc import Callable

import pytest

from siloseal.federation.errors import MessageError, OpeningFailed, UploadCopied
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.ckks.uploads import sign_upload
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.transport.wire import ckks_pb2 as pb

from .conftest import IDENTITIES, Table

TableOf = Callable[..., Table]


@pytest.fixture
def uploaded(table: Table) -> dict[str, bytes]:
    """Everyone's upload, before the aggregator has seen any."""
    step = table.side.open()
    for _ in (Round.ADVERTISE, Round.SHARE):
        step = table.side.advance({name: table.silos[name].answer(message) for name, message in step.items()})
        assert not isinstance(step, Sum)
    return {name: table.silos[name].answer(message) for name, message in step.items()}


def test_honest_uploads_pass_and_pass_again(table: Table, uploaded: dict[str, bytes]) -> None:
    """A silo whose receipt was lost delivers the same once more."""
    for _ in range(2):
        for name, reply in uploaded.items():
            table.side.check(name, reply)
    table.side.advance(uploaded)


def test_another_silos_upload_is_refused(table: Table, uploaded: dict[str, bytes]) -> None:
    with pytest.raises(UploadCopied):
        table.side.check("west", uploaded["east"])


@pytest.mark.parametrize("part", ["ciphertext", "masked_key"])
@pytest.mark.parametrize("first", ["east", "west"])
def test_a_copied_part_is_refused_even_under_the_copiers_own_signature(
    table: Table, uploaded: dict[str, bytes], part: str, first: str
) -> None:
    """Whoever comes second: the aggregator cannot know which of the two is the copy."""
    stolen, mine = table.upload(uploaded["east"]), table.upload(uploaded["west"])
    setattr(mine, part, getattr(stolen, part))
    sign_upload(table.session, IDENTITIES["west"], mine)
    replies = {"east": uploaded["east"], "west": table.wrapped(mine)}
    second = "east" if first == "west" else "west"
    table.side.check(first, replies[first])
    with pytest.raises(UploadCopied):
        table.side.check(second, replies[second])


def test_copies_that_nobody_checked_when_they_came_in_are_not_added(table: Table, uploaded: dict[str, bytes]) -> None:
    stolen = table.upload(uploaded["east"])
    sign_upload(table.session, IDENTITIES["west"], stolen)
    with pytest.raises(UploadCopied):
        table.side.advance({**uploaded, "west": table.wrapped(stolen)})


def test_an_upload_of_another_session_is_refused(table_of: TableOf, table: Table, uploaded: dict[str, bytes]) -> None:
    other = table_of(id=1, seed=1)
    other.run()
    earlier = other.upload(other.said[Round.UPLOAD]["east"])
    with pytest.raises(UploadCopied):
        table.side.check("east", table.wrapped(earlier))


@pytest.mark.parametrize("part", ["ciphertext", "masked_key", "signature"])
def test_one_flipped_bit_is_refused(table: Table, uploaded: dict[str, bytes], part: str) -> None:
    upload = table.upload(uploaded["east"])
    altered = bytearray(getattr(upload, part))
    altered[17] ^= 4
    setattr(upload, part, bytes(altered))
    with pytest.raises(UploadCopied):
        table.side.check("east", table.wrapped(upload))


def test_a_strangers_signature_is_refused(table: Table, uploaded: dict[str, bytes]) -> None:
    upload = table.upload(uploaded["east"])
    sign_upload(table.session, Identity.create("east"), upload)
    with pytest.raises(UploadCopied):
        table.side.check("east", table.wrapped(upload))


@pytest.mark.parametrize("wrong", [b"", b"short", bytes(10**6)])
@pytest.mark.parametrize("part", ["ciphertext", "masked_key"])
def test_a_part_of_another_size_is_refused_though_it_is_signed(
    table: Table, uploaded: dict[str, bytes], part: str, wrong: bytes
) -> None:
    upload = table.upload(uploaded["east"])
    setattr(upload, part, wrong)
    sign_upload(table.session, IDENTITIES["east"], upload)
    with pytest.raises(MessageError):
        table.side.check("east", table.wrapped(upload))


def test_what_was_refused_keeps_no_honest_upload_out(table: Table, uploaded: dict[str, bytes]) -> None:
    """A copy with a residue out of range is refused for that, and must not count as the first of the two."""
    stolen = table.upload(uploaded["east"])
    nonsense = pb.CkksUpload(ciphertext=b"\xff" * len(stolen.ciphertext), masked_key=stolen.masked_key)
    sign_upload(table.session, IDENTITIES["west"], nonsense)
    with pytest.raises(MessageError):
        table.side.check("west", table.wrapped(nonsense))
    table.side.check("east", uploaded["east"])


def test_a_ciphertext_under_another_key_share_than_was_sent_shows_when_the_sum_is_opened(table_of: TableOf) -> None:
    """The sum cannot be opened, and nothing of it comes out: see parameters.py."""

    other = table_of(seed=1)
    other.run()

    def swap(number: Round, replies: dict[str, bytes]) -> dict[str, bytes]:
        if number != Round.UPLOAD:
            return replies
        false, right = other.upload(other.said[number]["west"]), table.upload(replies["west"])
        false.masked_key = right.masked_key
        sign_upload(table.session, IDENTITIES["west"], false)
        return {**replies, "west": table.wrapped(false)}

    table = table_of()
    with pytest.raises(OpeningFailed):
        table.run(carry=swap)


def test_of_two_copies_that_come_at_once_one_at_least_is_refused(table: Table, uploaded: dict[str, bytes]) -> None:
    """Deliveries come in threads of their own: here the second comes while the first is being compared."""
    stolen = table.upload(uploaded["east"])
    sign_upload(table.session, IDENTITIES["west"], stolen)
    refused = list[str]()

    class Meanwhile(dict[str, object]):
        def copy(self) -> dict[str, object]:
            if "west" not in self:
                check("west", table.wrapped(stolen))
            return dict(self)

    def check(name: str, reply: bytes) -> None:
        try:
            table.side.check(name, reply)
        except UploadCopied:
            refused.append(name)

    table.side.__dict__["_seen"] = Meanwhile()
    check("east", uploaded["east"])
    assert refused == ["west"]
