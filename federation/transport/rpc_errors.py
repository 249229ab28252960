"""Errors across gRPC: the code travels in the trailing metadata, the words for people in the details.

The status is for whoever knows gRPC and not SiloSeal. No party of a consortium reads it to tell one error from another.
"""

from typing import NoReturn

import grpc

from siloseal.federation.errors import CertificateError, ProtocolError, RunError, SiloSealError, WrongRound
from siloseal.federation.printable import printable
from siloseal.federation.transport.config import Tls
from siloseal.federation.transport.diagnosis import diagnose
from siloseal.federation.transport.wire.error_codes import code_of, error_of

ERROR_CODE = "siloseal-error-code"
"""Key of the metadata that holds an error's code, as a decimal number."""
LONGEST_WORDS = 2000
"""Longest text of an error: it travels in a header, whose size gRPC limits, and may quote what the caller sent."""
_NO_CONNECTION = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED)


def abort(context: grpc.ServicerContext, error: SiloSealError) -> NoReturn:
    """End a call with an error."""
    context.set_trailing_metadata(((ERROR_CODE, str(int(code_of(error)))),))
    context.abort(_status_of(error), str(error)[:LONGEST_WORDS])
    raise AssertionError("abort raises")


def explained(error: grpc.RpcError, host: str, port: int, tls: Tls) -> SiloSealError:
    """The error with which the aggregator at this address answered, or why there was no answer."""
    words = printable(error.details() or error.code().name)
    if (code := received_code(error)) is not None:
        return error_of(code)(f"the aggregator answers: {words}")
    if error.code() in _NO_CONNECTION:
        return diagnose(host, port, tls, words)
    return RunError(f"the aggregator answered with {error.code().name}: {words}; see its log")


def received_code(error: grpc.RpcError) -> int | None:
    """The code that the other side sent; None where the trouble is gRPC's own."""
    sent = dict(error.trailing_metadata() or ()).get(ERROR_CODE, "")
    return int(sent) if isinstance(sent, str) and sent.isdecimal() and len(sent) < 10 else None


def _status_of(error: SiloSealError) -> grpc.StatusCode:
    match error:
        case CertificateError():
            return grpc.StatusCode.UNAUTHENTICATED
        case WrongRound():
            return grpc.StatusCode.FAILED_PRECONDITION
        case ProtocolError():
            return grpc.StatusCode.INVALID_ARGUMENT
        case RunError():  # a full disk, another process of the same name: it may pass
            return grpc.StatusCode.UNAVAILABLE
        case _:
            return grpc.StatusCode.INTERNAL
