"""Who is let in: every wrong certificate over real TLS, to one aggregator that serves good silos all the while."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest

from siloseal.federation.errors import CertificateError
from siloseal.federation.transport.pki.authority import Authority
from siloseal.federation.transport.pki.certificates import Role, bearer_of
from siloseal.federation.transport.pki.keys import new_private_key, public_key_of
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode

from .client import Caller, Hand, Pair, broken, refused
from .conftest import NAMES, ONE_STEP, Consortium
from .liar import Liar
from .parties import Party

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
NOW = datetime.now(UTC)
LONG_AGO, LATER = NOW - timedelta(days=60), NOW + timedelta(days=60)


@pytest.fixture
def another(lasting_consortium_of: Callable[..., Consortium]) -> Consortium:
    """Nothing runs in it yet."""
    return lasting_consortium_of(schedule=ONE_STEP)


@pytest.fixture(autouse=True)
def _a_good_silo_is_served_afterwards(consortium: Consortium) -> Iterator[None]:
    yield
    assert asked(consortium, Pair.of(consortium.kits / "east")) == "enrol"
    assert consortium.aggregator.alive


def asked(consortium: Consortium, pair: Pair) -> str | None:
    """What a bearer of this certificate is asked for."""
    with Caller(consortium, pair) as caller:
        attending = caller.attend(caller.offer().run_id)
        request = decode(pb.Request, attending.next())
        attending.leave()
    return request.WhichOneof("body")


def issued(consortium: Consortium, role: Role = Role.SILO, name: str = "north", now: datetime | None = None) -> Pair:
    """Another certificate of the consortium's authority, for a new key."""
    authority, key = Authority.load(consortium.kits / "authority"), new_private_key()
    hosts = ["localhost"] if role is Role.AGGREGATOR else []
    return Pair(authority.issue(role, name, public_key_of(key), valid_days=30, hosts=hosts, now=now), key)


def revoke(consortium: Consortium, pair: Pair) -> None:
    authority = Authority.load(consortium.kits / "authority")
    authority.revoke(bearer_of(pair.certificate or b"").serial)
    (consortium.kits / "aggregator" / "revoked.pem").write_bytes(authority.crl())


def put(pair: Pair, kit: Path) -> None:
    """In the place of a kit's own."""
    (kit / "silo.crt").write_bytes(pair.certificate or b"")
    (kit / "silo.key").write_bytes(pair.key or b"")


def ended_with(party: Party, kind: str = "CertificateError") -> str:
    assert party.start().wait() == 1
    return str(party.wait_for("error", type=kind)["words"])


class TestInTheHandshake:
    @pytest.mark.parametrize("then", [LONG_AGO, LATER], ids=["expired", "not yet valid"])
    def test_a_certificate_that_is_not_valid_now_is_refused(self, consortium: Consortium, then: datetime) -> None:
        with Caller(consortium, issued(consortium, now=then)) as caller:
            assert broken(caller.offer) is UNAVAILABLE

    def test_a_certificate_of_another_authority_is_refused(self, consortium: Consortium, another: Consortium) -> None:
        with Caller(consortium, Pair.of(another.kits / "north")) as caller:
            assert broken(caller.offer) is UNAVAILABLE

    def test_whoever_has_no_certificate_is_refused_everything(self, consortium: Consortium) -> None:
        with Caller(consortium, Pair()) as caller:
            for call in (caller.offer, caller.status, caller.health, lambda: caller.deliver(b"x")):
                assert broken(call) is UNAVAILABLE

    def test_the_aggregators_own_certificate_cannot_dial(self, consortium: Consortium) -> None:
        with Caller(consortium, Pair.of(consortium.kits / "aggregator")) as caller:
            assert broken(caller.offer) is UNAVAILABLE

    def test_a_connection_without_tls_gets_nothing(self, consortium: Consortium) -> None:
        with grpc.insecure_channel(f"localhost:{consortium.port}") as channel:
            offer = channel.unary_unary("/siloseal.Consortium/Offer")
            assert broken(lambda: offer(b"", timeout=30)) is UNAVAILABLE


class TestAtTheCall:
    def test_an_operator_may_ask_for_the_status_and_nothing_else(self, consortium: Consortium) -> None:
        with Caller(consortium, Pair.of(consortium.kits / "operator")) as operator:
            run_id = operator.status().run_id
            for call in (operator.offer, lambda: operator.attend(run_id).next(), lambda: operator.deliver(b"x")):
                assert refused(call)[0] is CertificateError

    def test_a_silo_that_the_job_does_not_name_is_turned_away(self, consortium: Consortium) -> None:
        with Caller(consortium, issued(consortium, name="west")) as caller:
            error, said = refused(caller.offer)
        assert error is CertificateError
        assert "silo west" in said

    def test_a_revoked_certificate_is_refused_from_the_next_call_on_and_the_audit_log_says_so(
        self, consortium: Consortium
    ) -> None:
        pair = issued(consortium)
        assert asked(consortium, pair) == "enrol"
        with Caller(consortium, pair) as caller:
            caller.offer()
            revoke(consortium, pair)
            for call in (caller.offer, caller.status, lambda: caller.deliver(b"x")):
                error, said = refused(call)
                assert error is CertificateError
                assert re.search("silo north .*revoked", said)
        turned_away = consortium.aggregator.wait_for("turned_away", error="CertificateError")
        assert turned_away["peer"].startswith("ipv4:127.0.0.1")
        assert asked(consortium, Pair.of(consortium.kits / "north")) == "enrol"

    @pytest.mark.parametrize("content", [None, b"", b"not a list", b"-----BEGIN X509 CRL-----\n"])
    def test_without_a_whole_list_of_revoked_certificates_nobody_is_let_in_until_it_is_back(
        self, consortium: Consortium, content: bytes | None
    ) -> None:
        path = consortium.kits / "aggregator" / "revoked.pem"
        good = path.read_bytes()
        try:
            path.unlink() if content is None else path.write_bytes(content)
            for kit in (*NAMES, "operator"):
                with Caller(consortium, Pair.of(consortium.kits / kit)) as caller:
                    error, said = refused(caller.status)
                assert error is CertificateError
                assert f"{path} " in said
        finally:
            path.write_bytes(good)
        assert asked(consortium, Pair.of(consortium.kits / "north")) == "enrol"


def test_an_attendance_that_was_open_when_it_was_revoked_gets_no_further_request(another: Consortium) -> None:
    another.aggregator.start().wait_for("serves")
    pair, hands = issued(another, name="south"), [Hand(another, name, attends=False) for name in NAMES]
    with Caller(another, pair) as caller:
        attending = caller.attend(hands[0].run_id)
        enrol = attending.next()
        revoke(another, pair)
        for hand in hands:
            hand.deliver(hand.reply(enrol))
        error, said = refused(attending.next)
    assert error is CertificateError
    assert "was revoked" in said
    with Caller(another, Pair.of(another.kits / "south")) as good:
        assert decode(pb.Request, good.attend(hands[0].run_id).next()).WhichOneof("body") == "begin"
    for hand in hands:
        hand.close()


def test_after_a_restart_an_older_list_of_revoked_certificates_is_refused(another: Consortium) -> None:
    path = another.kits / "aggregator" / "revoked.pem"
    older, pair = path.read_bytes(), issued(another)
    revoke(another, pair)
    another.aggregator.start().wait_for("serves")
    another.aggregator.kill()
    newest = path.read_bytes()
    path.write_bytes(older)
    assert f"{path} is list 1, but list 2 " in ended_with(another.aggregator)
    path.write_bytes(newest)
    another.aggregator.start().wait_for("serves", count=2)
    with Caller(another, pair) as caller:
        assert refused(caller.offer)[0] is CertificateError


class TestASilo:
    """A real process."""

    @pytest.mark.parametrize(
        ("then", "words"),
        [(LONG_AGO, "expired"), (LATER, "clock")],
        ids=["expired", "not yet valid"],
    )
    def test_with_a_certificate_that_is_not_valid_now_ends_at_once(
        self, another: Consortium, then: datetime, words: str
    ) -> None:
        put(issued(another, now=then), another.kits / "north")
        assert words in ended_with(another.silos["north"])

    def test_with_the_certificate_of_another_silo_ends_at_once(self, another: Consortium) -> None:
        put(Pair.of(another.kits / "north"), another.kits / "east")
        said = ended_with(another.silos["east"])
        assert re.search("silo north .*silo east", said)

    def test_with_the_certificate_of_another_authority_ends_at_once(
        self, consortium: Consortium, another: Consortium
    ) -> None:
        put(Pair.of(consortium.kits / "north"), another.kits / "north")
        assert "signed" in ended_with(another.silos["north"])

    def test_of_another_consortium_refuses_the_aggregator_and_waits(
        self, consortium: Consortium, another: Consortium
    ) -> None:
        another.edit("north", aggregator={"host": "localhost", "port": consortium.port})
        reason = another.silos["north"].start().wait_for("waiting")["reason"]
        assert reason.startswith(f"CertificateError: the aggregator at localhost:{consortium.port} ")

    @pytest.mark.parametrize(
        ("role", "then", "words"),
        [
            (Role.SILO, None, "hold"),
            (Role.AGGREGATOR, LONG_AGO, "expired"),
            (Role.AGGREGATOR, LATER, "yet"),
        ],
        ids=["a silo's certificate", "expired", "not yet valid"],
    )
    def test_refuses_an_aggregator_with_a_wrong_certificate_and_offers_it_nothing(
        self, another: Consortium, role: Role, then: datetime | None, words: str
    ) -> None:
        name = "aggregator" if role is Role.AGGREGATOR else "south"
        with Liar(another, issued(another, role, name, then)):
            reason = another.silos["north"].start().wait_for("waiting")["reason"]
        assert reason.startswith("CertificateError: ")
        assert words in reason
        assert not another.silos["north"].said("takes_part")

    def test_that_comes_before_the_aggregator_says_that_it_waits_and_why_and_then_works(
        self, another: Consortium
    ) -> None:
        silo = another.silos["north"].start()
        waiting = silo.wait_for("waiting")
        assert waiting["reason"].startswith("Unreachable: ")
        assert 0 < waiting["seconds"] <= 0.5
        another.aggregator.start()
        silo.wait_for("delivered", number=1)


def test_an_aggregator_with_a_silos_certificate_ends_at_once(another: Consortium) -> None:
    tls = {"certificate": "../south/silo.crt", "key": "../south/silo.key", "authority": "ca.crt"}
    another.edit("aggregator", tls=tls)
    assert re.search("silo south .*aggregator", ended_with(another.aggregator))
