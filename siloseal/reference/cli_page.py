"""docs/cli.md: every command with its arguments and options, from what Typer knows."""

from collections.abc import Iterator
from typing import Any

import typer

from siloseal.cli.app import app
from siloseal.reference.markdown import GENERATED, paragraphs, table

COMMAND = "siloseal"


def cli_page() -> str:
    """The whole page."""
    root: Any = typer.main.get_command(app)  # Typer types neither commands nor their parameters
    parts = [
        "# Commands",
        GENERATED,
        paragraphs(root.help),
        "Results go to standard output; progress and errors go to standard error. An error ends with code 2 where a "
        "config or the command line is wrong, and with code 1 otherwise.",
        *_commands(COMMAND, root),
    ]
    return "\n\n".join(parts) + "\n"


def _commands(path: str, group: Any) -> Iterator[str]:
    for name, command in sorted(group.commands.items()):
        yield from _command(f"{path} {name}", command)
        if hasattr(command, "commands"):
            yield from _commands(f"{path} {name}", command)


def _command(path: str, command: Any) -> Iterator[str]:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    yield f"## {path}"
    yield paragraphs(command.help)
    words = [path, *(argument.metavar for argument in arguments), *(["[OPTIONS]"] if options else [])]
    if hasattr(command, "commands"):
        words.append(command.subcommand_metavar)
    yield f"    {' '.join(words)}"
    if command.params:
        rows = [(f"`{argument.metavar}`", argument.help or "", "required") for argument in arguments]
        rows += [(f"`{', '.join(option.opts)}`", option.help or "", _default(option)) for option in options]
        yield table(("argument or option", "meaning", "default"), rows)


def _default(option: Any) -> str:
    """What happens without the option. Some defaults depend on the machine, and their help says so."""
    if option.required:
        return "required"
    if option.default is None or option.default is False or "By default" in (option.help or ""):
        return ""
    return f"`{option.default}`"
