"""How a run begins: everyone enrols, hears that everyone agreed to the same job, and hears everyone's nonce."""

from collections.abc import Mapping

from siloseal.aggregator.asking import Check
from siloseal.aggregator.dispatcher import Dispatcher
from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.errors import MessageError, RunError, SignatureInvalid
from siloseal.federation.job.agreement import Agreement
from siloseal.federation.job.beacon import COMMITMENT_BYTES, join_nonces, require_committed
from siloseal.federation.job.releases import Run
from siloseal.federation.records.identity import KEY_BYTES
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2


def enrol(job: AnyJob, dispatcher: Dispatcher, *, check: Check = lambda *_: None) -> dict[str, pb.Reply]:
    """Everyone's enrolment."""

    def checked(silo: str, reply: pb.Reply) -> None:
        _require_keys(silo, reply.enrolled)
        check(silo, reply)

    return dispatcher.ask(dict.fromkeys(job.silos.names, pb.Request(enrol=pb.Enrol())), check=checked)


def agree(job: AnyJob, dispatcher: Dispatcher, enrolled: Mapping[str, pb.Reply]) -> Run:
    """Show everyone that all agreed to one job, have the nonces revealed, and tell everyone all of them."""
    names = job.silos.names
    identities = {silo: reply.enrolled.identity for silo, reply in enrolled.items()}
    agreement = Agreement(dispatcher.run_id, job.digest, identities)
    agreements = [sums_pb2.Piece(silo=silo, data=enrolled[silo].enrolled.agreement) for silo in names]
    commitments = [sums_pb2.Piece(silo=silo, data=enrolled[silo].enrolled.commitment) for silo in names]
    try:  # the silos check it against their own rosters; this is to end before they have worked in vain
        committed = agreement.check(agreements, commitments)
    except SignatureInvalid as error:
        raise RunError(
            f"the silos do not agree on the job and on each other's keys ({error}); hand out one roster to "
            "everyone, and begin another run"
        ) from error

    def hear(silo: str, reply: pb.Reply) -> None:
        require_committed(agreement, silo, reply.begun.nonce, committed[silo])

    everyone = pb.Begin(agreements=agreements, commitments=commitments)
    begun = dispatcher.ask(dict.fromkeys(names, pb.Request(begin=everyone)), check=hear)
    nonces = [sums_pb2.Piece(silo=silo, data=begun[silo].begun.nonce) for silo in names]
    run = Run(join_nonces(agreement, committed, nonces), identities)
    dispatcher.ask(dict.fromkeys(names, pb.Request(nonces=pb.Nonces(nonces=nonces))))
    return run


def _require_keys(silo: str, enrolled: pb.Enrolled) -> None:
    if len(enrolled.identity) != KEY_BYTES:
        raise MessageError(
            f"{silo} enrols with an identity key of {len(enrolled.identity)} bytes, expected {KEY_BYTES}"
        )
    if len(enrolled.commitment) != COMMITMENT_BYTES:
        raise MessageError(
            f"{silo} enrols with a commitment of {len(enrolled.commitment)} bytes, expected {COMMITMENT_BYTES}"
        )
