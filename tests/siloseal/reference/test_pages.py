"""The generated pages: current, complete, and linked to themselves."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from siloseal.cli.app import app
from siloseal.federation.job.job import Job
from siloseal.federation.sums.config import SecureSumConfig
from siloseal.reference.cli_page import cli_page
from siloseal.reference.config_page import config_page
from siloseal.reference.markdown import anchor
from siloseal.reference.pages import PAGES

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_the_committed_page_is_current(name: str) -> None:
    """Whoever changes a description, a default or a command runs `make docs` and commits the page with it."""
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), f"docs/{name} is not current; run `make docs`"


def commands(path: str, group: Any) -> Iterator[str]:
    for name, command in group.commands.items():
        yield f"{path} {name}"
        if hasattr(command, "commands"):
            yield from commands(f"{path} {name}", command)


def test_every_command_has_a_heading() -> None:
    headings = re.findall(r"^## (.*)$", cli_page(), re.MULTILINE)
    assert set(headings) == set(commands("siloseal", typer.main.get_command(app)))


def test_every_key_of_a_job_and_every_kind_of_sum_is_there() -> None:
    page = config_page()
    assert [key for key in Job.model_fields if f"\n| `{key}` |" not in page] == []
    kinds = re.findall(r"kind='(\w+)'|Literal\['(\w+)'\]", str(SecureSumConfig))
    sums = {kind for pair in kinds for kind in pair if kind}
    assert [kind for kind in sums if f"#### `kind: {kind}`" not in page] == []


def test_kinds_stand_below_their_own_section_and_not_below_one_that_another_kind_holds() -> None:
    sections = re.split(r"^### ", config_page(), flags=re.MULTILINE)
    kinds = {section.splitlines()[0]: re.findall(r"^#### `kind: (\w+)`", section, re.MULTILINE) for section in sections}
    assert kinds["Job: schedule"] == ["two_phase", "fedavg"]
    assert kinds["Job: schedule.server"] == ["average", "momentum", "adam", "yogi"]


def test_every_key_says_what_it_means() -> None:
    rows = re.findall(r"^\| (`[^|]*`) \| (.*?) \|", config_page(), re.MULTILINE)
    assert len(rows) > 200
    assert {key for key, meaning in rows if not meaning.strip()} == set()


def test_every_link_on_the_page_leads_to_a_heading() -> None:
    page = config_page()
    headings = {anchor(heading) for heading in re.findall(r"^#+ (.*)$", page, re.MULTILINE)}
    links = set(re.findall(r"\]\(#([^)]*)\)", page))
    assert len(links) > 20
    assert links - headings == set()
