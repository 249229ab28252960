"""Whoever gets a value from the public API can annotate it: its type is public, Python's, numpy's or torch's."""

import ast
import importlib
import inspect
import sys
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path

import pydantic
import pytest
from torch.nn import Module

import siloseal

PUBLIC = {name: getattr(siloseal, name) for name in siloseal.__all__}
FUNCTIONS = [name for name, found in PUBLIC.items() if inspect.isfunction(found)]
VALUES = [
    name
    for name, found in PUBLIC.items()
    if isinstance(found, type)
    and (is_dataclass(found) or issubclass(found, tuple | pydantic.BaseModel))
    and name != "Job"  # its sections are those of its file, which docs/config.md describes key by key
]
KNOWN_PACKAGES = {*sys.stdlib_module_names, "numpy", "torch"}


def names_for_type_checkers(module: str) -> dict[str, object]:
    """What a module imports under `if TYPE_CHECKING`."""
    found = dict[str, object]()
    source = Path(str(importlib.import_module(module).__file__)).read_text()
    for block in (node for node in ast.parse(source).body if isinstance(node, ast.If)):
        for node in (node for node in block.body if isinstance(node, ast.ImportFrom)):
            imported = importlib.import_module(str(node.module))
            found |= {alias.asname or alias.name: getattr(imported, alias.name) for alias in node.names}
    return found


def types_in(annotation: object) -> Iterator[type]:
    """The classes that an annotation is made of."""
    if isinstance(annotation, type) and not typing.get_args(annotation):
        yield annotation
    for part in typing.get_args(annotation):
        yield from types_in(part)


def annotations_of(name: str) -> Iterator[object]:
    """Annotations of a function's arguments and result, or of a value's fields and properties."""
    found = PUBLIC[name]
    owners = [found, *(part.fget for _, part in inspect.getmembers(found) if isinstance(part, property) and part.fget)]
    for owner in owners:
        if "siloseal" in owner.__module__ and not owner.__name__.startswith("_"):
            yield from typing.get_type_hints(owner, localns=names_for_type_checkers(owner.__module__)).values()


def is_known(found: type) -> bool:
    """Whether a user can write it, or the public type or torch's network that it is one of."""
    public = tuple(
        value for value in PUBLIC.values() if isinstance(value, type) and not getattr(value, "_is_protocol", 0)
    )
    return (
        found.__module__.split(".")[0] in KNOWN_PACKAGES
        or found in PUBLIC.values()
        or issubclass(found, (*public, Module, str))  # phases are an enumeration of texts
    )


@pytest.mark.parametrize("name", [*FUNCTIONS, *VALUES])
def test_every_type_that_a_user_meets_can_be_written_by_them(name: str) -> None:
    met = {found for annotation in annotations_of(name) for found in types_in(annotation)}
    assert met or name in FUNCTIONS
    assert {f"{found.__module__}.{found.__name__}" for found in met if not is_known(found)} == set()


def test_the_check_sees_a_type_of_our_own() -> None:
    from siloseal.silo.ledger import Ledger

    assert list(types_in(dict[str, list[Ledger] | None])) == [str, Ledger, type(None)]
    assert not is_known(Ledger)
