"""Addresses of a consortium: which file of a kit has another one, and a port for one machine that is everyone."""

import socket
from collections.abc import Callable
from pathlib import Path

from siloseal.aggregator.config import AggregatorConfig
from siloseal.federation.config.loading import load_config
from siloseal.federation.errors import ConfigError
from siloseal.provisioning.consortium import Listener, OperatorConfig
from siloseal.provisioning.kit import Kit
from siloseal.silo.config import Address, SiloConfig


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def note_other_address(kit: Kit, file: str, place: Listener) -> None:
    """Note it if this file, kept because its owner may have edited it, dials or listens elsewhere than agreed."""
    dialled = Address(host=place.host, port=place.port)
    match file:
        case "silo.yaml":
            _compare(kit, file, "dials", lambda path: load_config(SiloConfig, path).aggregator, dialled)
        case "operator.yaml":
            _compare(kit, file, "dials", lambda path: load_config(OperatorConfig, path).aggregator, dialled)
        case _:
            _compare(kit, file, "listens at", _listening, Address(host=place.listen, port=place.port))


def _listening(path: Path) -> Address:
    config = load_config(AggregatorConfig, path)
    return Address(host=config.host, port=config.port)


def _compare(kit: Kit, file: str, does: str, read: Callable[[Path], Address], expected: Address) -> None:
    try:
        found = read(kit.folder / file)
    except ConfigError as error:
        kit.notes.append(f"{file} was kept, but cannot be used: {str(error).splitlines()[0]}")
        return
    if found != expected:
        kit.notes.append(f"{file} was kept and {does} {found}, the consortium says {expected}; change it there")
