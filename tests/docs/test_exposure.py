"""Pages that quote who learns what from a sum say what the schemes' `exposure` says; all others link to it."""

import re
from pathlib import Path

import pytest

from siloseal.experiments.report.chapters.noise import TRUST
from siloseal.federation.sums.config import exposures

from .pages import PAGES, ROOT, name

RESULTS = (ROOT / "docs/results/README.md").read_text(encoding="utf-8")
BY_HAND = [page for page in PAGES if name(page) not in ("docs/sums.md", "docs/results/README.md")]


def test_the_published_comparison_prints_the_exposure_of_today() -> None:
    table = RESULTS.split("### Who learns what")[1].split("\n\n")[1]
    quoted = {tuple(re.split(r" \| ", line.strip("| "))[1:4]) for line in table.splitlines()[2:]}
    exposed = {(one.aggregator_learns, one.colluders, one.assumes or "nothing") for one in exposures().values()}
    assert quoted == exposed


@pytest.mark.parametrize("page", BY_HAND, ids=name)
def test_a_page_written_by_hand_does_not_repeat_the_exposure(page: Path) -> None:
    text = " ".join(page.read_text(encoding="utf-8").split())
    lines = {
        line
        for one in exposures().values()
        for line in (one.if_more_collude, one.if_a_silo_is_silent, one.assumes)
        if line
    }
    assert [line for line in lines if line in text] == []
    assert not re.search(r"2 ?t - n - 1", text), "how many may collude is in docs/sums.md"


def test_the_readme_says_how_large_a_coalition_of_ten_silos_must_be() -> None:
    (row,) = re.findall(r"^\| who can open one upload .*$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    (needed,) = re.findall(r"with (\d+) or more of 10 silos", row)
    assert {int(needed)} == {exposures()[kind].may_collude(10) + 1 for kind in ("ckks", "secagg")}


def test_the_page_on_noise_says_who_is_trusted_as_the_comparison_does() -> None:
    text = (ROOT / "docs/noise.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \| (.*) \|$", text, re.MULTILINE)
    assert {kind: tuple(cells) for kind, *cells in rows} == TRUST
