"""Errors over a real gRPC connection: the type arrives, whatever the words are."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from siloseal.federation import errors
from siloseal.federation.transport.config import Tls
from siloseal.federation.transport.rpc_errors import ERROR_CODE, LONGEST_WORDS, abort, explained
from siloseal.federation.transport.wire.error_codes import CODES

NO_TLS = Tls(authority=Path("ca.crt"), certificate=Path("silo.crt"), key=Path("silo.key"))
Method = Callable[[bytes, grpc.ServicerContext], bytes]


@contextmanager
def answer_of(method: Method) -> Iterator[grpc.RpcError]:
    """What a call raises at the caller, when the server does this."""
    server = grpc.server(ThreadPoolExecutor(1))
    handler = grpc.method_handlers_generic_handler("test", {"Call": grpc.unary_unary_rpc_method_handler(method)})
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            with pytest.raises(grpc.RpcError) as raised:
                channel.unary_unary("/test/Call")(b"", timeout=30)
        yield raised.value
    finally:
        server.stop(None).wait()


def received_error(method: Method) -> errors.SiloSealError:
    with answer_of(method) as error:
        return explained(error, "localhost", 1, NO_TLS)


@pytest.mark.parametrize("error", CODES, ids=lambda error: error.__name__)
def test_every_error_arrives_with_its_type_and_words(error: type[errors.SiloSealError]) -> None:
    found = received_error(lambda _, context: abort(context, error("ConfigError: ANOTHER ERROR, ü")))
    assert type(found) is error
    assert str(found).endswith("ANOTHER ERROR, ü")


def test_long_words_are_cut_and_the_type_arrives_all_the_same() -> None:
    found = received_error(lambda _, context: abort(context, errors.MessageError("x" * 10**6)))
    assert type(found) is errors.MessageError
    assert len(str(found)) < 2 * LONGEST_WORDS


def test_what_a_terminal_would_obey_does_not_arrive() -> None:
    assert "\x1b" not in str(received_error(lambda _, context: abort(context, errors.RunError("\x1b[2J"))))


@pytest.mark.parametrize("code", ["", "-1", "9" * 5000, "WrongRound"])
def test_what_is_no_code_is_trouble_of_grpcs_own(code: str) -> None:
    def method(request: bytes, context: grpc.ServicerContext) -> bytes:
        context.set_trailing_metadata(((ERROR_CODE, code),))
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "WrongRound: so it says")
        return b""

    assert type(received_error(method)) is errors.RunError


def test_a_bug_of_the_other_side_is_a_run_error() -> None:
    def method(request: bytes, context: grpc.ServicerContext) -> bytes:
        raise ValueError("WrongRound")

    assert type(received_error(method)) is errors.RunError
