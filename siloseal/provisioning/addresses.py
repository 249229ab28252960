"""Files that were kept because their owners may have edited them, and the address that the consortium has now."""

from collections.abc import Callable
from pathlib import Path

from siloseal.aggregator.config import AggregatorConfig
from siloseal.federation.config.loading import load_config
from siloseal.federation.errors import ConfigError
from siloseal.provisioning.consortium import Listener, OperatorConfig
from siloseal.provisioning.kit import Kit
from siloseal.silo.config import Address, SiloConfig


def note_other_address(kit: Kit, file: str, place: Listener) -> None:
    """A note, if this file of the kit dials or listens elsewhere than the consortium says."""
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
