"""Peers of another version of the protocol, over real connections: each hears which side to upgrade."""

import re
from collections.abc import Callable, Iterator

import grpc
import pytest

from siloseal.federation.config.loading import load_config
from siloseal.federation.config.section import placed
from siloseal.federation.errors import VersionMismatch
from siloseal.federation.transport.wire import consortium_pb2
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire import version as version_module
from siloseal.federation.transport.wire.codec import decode
from siloseal.federation.transport.wire.error_codes import error_of
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION
from siloseal.runs import status as status_module
from siloseal.runs.status import ask_status
from siloseal.silo import client as client_module
from siloseal.silo.client import AggregatorClient
from siloseal.silo.config import SiloConfig

from .client import Caller, Hand, Pair, refused
from .conftest import ONE_STEP, Consortium
from .liar import RUN, Liar

OTHERS = [0, PROTOCOL_VERSION - 1, PROTOCOL_VERSION + 1]
AT_THE_AGGREGATOR, AT_NORTH = "aggregator$", "north$"


@pytest.fixture
def liar(lasting_consortium_of: Callable[..., Consortium]) -> Iterator[Liar]:
    with _Reporting(lasting_consortium_of(schedule=ONE_STEP)) as liar:
        yield liar


class _Reporting(Liar):
    """An aggregator of the version that its offer names."""

    def Status(  # noqa: N802
        self, request: consortium_pb2.StatusRequest, context: grpc.ServicerContext
    ) -> consortium_pb2.StatusReport:
        return consortium_pb2.StatusReport(protocol_version=self.offer.protocol_version)


def speak(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    """This process becomes a peer of another version."""
    for module in (version_module, client_module, status_module):
        monkeypatch.setattr(module, "PROTOCOL_VERSION", version)


@pytest.mark.parametrize("version", OTHERS)
@pytest.mark.parametrize("kit", ["north", "operator"])
def test_the_aggregator_tells_every_caller_which_side_to_upgrade(
    consortium: Consortium, version: int, kit: str
) -> None:
    with Caller(consortium, Pair.of(consortium.kits / "operator")) as operator:
        run_id = operator.status().run_id
    with Caller(consortium, Pair.of(consortium.kits / kit)) as caller:
        caller.version = version
        calls = [caller.status]
        if kit == "north":
            calls += [caller.offer, lambda: caller.attend(run_id).next()]
        for call in calls:
            error, said = refused(call)
            assert error is VersionMismatch
            assert said.endswith("aggregator") == (version > PROTOCOL_VERSION)
            assert kit in said


def test_a_silo_of_another_version_is_in_the_status_until_it_is_upgraded(consortium: Consortium) -> None:
    with Caller(consortium, Pair.of(consortium.kits / "operator")) as operator:
        with Caller(consortium, Pair.of(consortium.kits / "south")) as south:
            south.version = PROTOCOL_VERSION + 1
            refused(south.offer)
            assert operator.trouble("south").startswith("VersionMismatch: ")
        with Hand(consortium, "south") as upgraded:
            upgraded.step()
        assert operator.trouble("south") == ""


@pytest.mark.parametrize("version", OTHERS)
def test_a_reply_of_another_version_is_refused(consortium: Consortium, version: int) -> None:
    with Hand(consortium, "east") as east:
        reply = decode(pb.Reply, east.reply(east.next()))
        reply.protocol_version = version
        assert refused(lambda: east.deliver(reply.SerializeToString()))[0] is VersionMismatch


@pytest.mark.parametrize("version", [PROTOCOL_VERSION + 1, PROTOCOL_VERSION + 2])
def test_a_newer_silo_and_a_newer_operator_hear_the_aggregators_words(
    consortium: Consortium, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    kit = consortium.kits / "north"
    client = AggregatorClient(placed(load_config(SiloConfig, kit / "silo.yaml"), kit), b"newer")
    speak(monkeypatch, version)
    with pytest.raises(VersionMismatch, match=AT_THE_AGGREGATOR):
        client.offer()
    with pytest.raises(VersionMismatch, match=AT_THE_AGGREGATOR):
        next(client.requests(RUN))
    client.close()
    with pytest.raises(VersionMismatch, match=AT_THE_AGGREGATOR):
        ask_status(consortium.kits / "operator" / "operator.yaml")


@pytest.mark.parametrize(("version", "words"), [(0, AT_THE_AGGREGATOR), (PROTOCOL_VERSION + 1, AT_NORTH)])
def test_a_silo_waits_out_an_aggregator_of_another_version_that_does_not_check_and_goes_on_when_they_agree(
    liar: Liar, version: int, words: str
) -> None:
    liar.offer.protocol_version = version
    north = liar.consortium.silos["north"]
    north.impatient = True
    reason = north.start().wait_for("waiting")["reason"]
    assert reason.startswith("VersionMismatch: ")
    assert re.search(words, reason)
    liar.offer.protocol_version = PROTOCOL_VERSION
    assert liar.ask(1, enrol=pb.Enrol()).WhichOneof("body") == "enrolled"


@pytest.mark.parametrize("version", OTHERS)
def test_a_silo_refuses_a_request_of_another_version_and_stays(liar: Liar, version: int) -> None:
    liar.consortium.silos["north"].start()
    digest = liar.consortium.job.digest
    request = pb.Request(number=1, job_digest=digest, run_id=RUN, protocol_version=version, enrol=pb.Enrol())
    assert error_of(liar.bring(request.SerializeToString()).refusal.code) is VersionMismatch
    assert liar.ask(1, enrol=pb.Enrol()).WhichOneof("body") == "enrolled"


@pytest.mark.parametrize("version", OTHERS)
def test_status_tells_an_aggregator_of_another_version_that_does_not_check(liar: Liar, version: int) -> None:
    liar.offer.protocol_version = version
    older = "the aggregator" if version < PROTOCOL_VERSION else "this machine"
    with pytest.raises(VersionMismatch, match=f"at {older}$"):
        ask_status(liar.consortium.kits / "operator" / "operator.yaml")
