"""`siloseal status`: ask a running aggregator how far it is."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc

from siloseal.federation.config.file_kinds import kind_of
from siloseal.federation.config.loading import load_config, top_level_keys
from siloseal.federation.config.section import placed
from siloseal.federation.errors import ConfigError
from siloseal.federation.transport.config import Tls
from siloseal.federation.transport.pki.certificates import Role
from siloseal.federation.transport.rpc_errors import explained
from siloseal.federation.transport.tls import CLIENT_OPTIONS, read_credentials
from siloseal.federation.transport.wire import consortium_pb2 as pb
from siloseal.federation.transport.wire import consortium_pb2_grpc as pb_grpc
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION, require_version
from siloseal.provisioning.consortium import OperatorConfig
from siloseal.silo.config import Address, SiloConfig

CALL_SECONDS = 10.0
ONLY_SILOS = {"policy", "identity"}
"""Keys of a silo.yaml that no operator.yaml has."""


def ask_status(path: Path) -> pb.StatusReport:
    """The report, asked for with the certificate that this operator.yaml or silo.yaml names."""
    address, tls, role = _caller(path)
    credentials = read_credentials(tls, role=role)
    with grpc.secure_channel(str(address), credentials.for_client(), options=CLIENT_OPTIONS) as channel:
        stub = pb_grpc.ConsortiumStub(channel)  # type: ignore[no-untyped-call]
        try:
            request = pb.StatusRequest(protocol_version=PROTOCOL_VERSION)
            report: pb.StatusReport = stub.Status(request, timeout=CALL_SECONDS)
        except grpc.RpcError as error:
            raise explained(error, address.host, address.port, tls) from error
    require_version(report.protocol_version, here="this machine", there="the aggregator")
    return report


def _caller(path: Path) -> tuple[Address, Tls, Role]:
    folder, keys = path.resolve().parent, top_level_keys(path)
    found, taken = kind_of(keys), [kind_of(config.model_fields) for config in (OperatorConfig, SiloConfig)]
    if found is not None and found not in taken:
        raise ConfigError(f"{path}: is {found.name}, expected an operator's config or a silo's; {found.use}")
    if not ONLY_SILOS.isdisjoint(keys):  # its mistakes are explained as those of a silo's file
        silo = placed(load_config(SiloConfig, path), folder)
        return silo.aggregator, silo.tls, Role.SILO
    operator = placed(load_config(OperatorConfig, path), folder)
    return operator.aggregator, operator.tls, Role.OPERATOR


def as_document(report: pb.StatusReport) -> dict[str, Any]:
    """The report as a document for programs."""
    return {
        "job": report.job,
        "run": report.run_id.hex(),
        "job_digest": report.job_digest.hex(),
        "phase": report.phase,
        "round": report.round,
        "rounds": report.rounds,
        "request": report.request,
        "asked": report.asked,
        "seconds": report.seconds,
        "silos": [
            {
                "name": silo.silo,
                "attending": silo.attending,
                "last_seen": _instant(silo.last_seen),
                "answered": silo.answered,
                "sent_bytes": silo.sent_bytes,
                "received_bytes": silo.received_bytes,
                "epsilon_spent": silo.epsilon_spent,
                "trouble": silo.trouble,
            }
            for silo in report.silos
        ],
        "notes": list(report.notes),
    }


def _instant(seconds: float) -> str | None:
    """The time as text; None for never, and for what no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds else None
    except (OverflowError, ValueError, OSError):
        return None
