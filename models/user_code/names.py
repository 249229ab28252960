"""The names that a module's source gives, read from its text: whoever only wants a digest runs no code for it."""

import ast
from collections.abc import Iterable, Iterator

from siloseal.federation.errors import ConfigError
from siloseal.models.user_code.source import Source

_COMPUTED = {"__getattr__", "*"}
"""Names by which a module gives further ones that its text does not tell."""


def require_name(source: Source, target: str) -> None:
    """`ConfigError` unless the module of the target, MODULE:NAME, gives that name, as far as its text tells."""
    module, _, name = target.partition(":")
    path = source.path_of(module)
    try:
        found = set(_given(ast.parse(source.files[source.file_of(module) or ""]).body))
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise ConfigError(f"{path}{line} is no Python ({error}); correct it first") from error
    if name not in found and not found & _COMPUTED:
        others = ", ".join(sorted(each for each in found if each[0] != "_"))
        raise ConfigError(
            f"{target} names {name}, but {path} has no {name}; it has {others or 'nothing'}: correct the name"
        )


def _given(statements: Iterable[ast.AST]) -> Iterator[str]:
    """The names that these statements bind in their module, whichever branch runs. Bodies of functions bind none."""
    for node in statements:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (each.asname or each.name.partition(".")[0] for each in names)
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Lambda():
                continue
            case _:
                yield from _given(ast.iter_child_nodes(node))
