"""Every command that a page tells its reader to type exists, with the options that it names."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from siloseal.cli.app import app
from siloseal.federation.config.loading import load_config
from siloseal.federation.job.job import Job

from .pages import PAGES, ROOT, blocks, name

COMMANDS: Any = typer.main.get_command(app)
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def commands(page: Path) -> list[str]:
    """Lines of the page's shell blocks that call siloseal or make."""
    lines = [line.strip() for block in blocks(page, "sh") for line in block.splitlines()]
    found = [re.search(r"\b((?:siloseal|make) .*)", line) for line in lines if not line.startswith("#")]
    return [match[1] for match in found if match]


def mistake(line: str) -> str | None:
    """What no reader could type: a command, an option or a config that is not there."""
    words = shlex.split(line.partition(" > ")[0], comments=True)
    if words[0] == "make":
        return None if set(words[1:]) <= TARGETS else f"no such target: {line}"
    command, rest = COMMANDS, words[1:]
    while hasattr(command, "commands") and rest and rest[0] in command.commands:
        command, rest = command.commands[rest[0]], rest[1:]
    if command is COMMANDS:
        return f"no such command: {line}"
    if hasattr(command, "commands"):  # `provision CONFIG` stands for `provision kits CONFIG`
        command = command.commands["kits"]
    options = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    unknown = [word for word in rest if word.startswith("--") and word not in options]
    missing = [word for word in rest if word.startswith("configs/") and not list(ROOT.glob(word))]
    missing = [word for word in missing if not word.startswith("configs/requests/")]
    return f"{unknown + missing} in: {line}" if unknown + missing else None


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=name)
def test_every_command_of_a_page_exists(page: Path) -> None:
    assert [found for line in commands(page) if (found := mistake(line))] == []


@pytest.mark.parametrize(
    "line",
    ["siloseal fly", "siloseal run configs/none.yaml", "siloseal sample --colour red", "make tea"],
)
def test_a_command_that_is_not_there_would_be_found(line: str) -> None:
    assert mistake(line)


def test_the_commands_of_a_deployment_start_every_silo_of_the_job() -> None:
    """Else the job would wait for ever."""
    job = load_config(Job, ROOT / "configs" / "hospitals.yaml")
    (block,) = (block for block in blocks(ROOT / "docs/operators.md", "sh") if "siloseal aggregator" in block)
    started = re.findall(r"^siloseal silo --config (\w+)/silo\.yaml", block, re.MULTILINE)
    assert started == list(job.silos.names)
