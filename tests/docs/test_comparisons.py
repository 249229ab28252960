"""docs/comparisons.md quotes what the program wrote into docs/results."""

import re

import pytest

from .pages import ROOT

TEXT = (ROOT / "docs/comparisons.md").read_text(encoding="utf-8").split("\n## What came out\n")[1]
CHAPTERS = (ROOT / "docs/results/README.md").read_text(encoding="utf-8").split("\n## ")
QUOTED = re.compile(r"\d[\d.,]* (?:kB|MB|GB|ms|s|dB)\b|\d\.\d+ ± \d\.\d+|\b\d\.\d\d\b")
BULLETS = dict(
    re.findall(r"^- \*\*\w+\*\* \(`compare-([\w-]+)\.yaml`(.*?)(?=\n\n|\n- \*\*)", TEXT, re.MULTILINE | re.DOTALL)
)


def test_every_comparison_is_told() -> None:
    assert set(BULLETS) == {path.stem.removeprefix("compare-") for path in (ROOT / "configs").glob("compare-*")}


@pytest.mark.parametrize("name", list(BULLETS))
def test_the_numbers_of_a_comparison_are_those_of_its_chapter(name: str) -> None:
    quoted = QUOTED.findall(" ".join(BULLETS[name].split()))
    if "not measured as a whole yet" in BULLETS[name]:
        assert not quoted
        assert not any(f"configs/compare-{name}.yaml" in chapter for chapter in CHAPTERS), "tell what came out"
        return
    (chapter,) = (chapter for chapter in CHAPTERS if f"configs/compare-{name}.yaml" in chapter)
    assert quoted or name == "cheating"  # which has no numbers
    assert [number for number in quoted if number.removesuffix(" dB") not in chapter] == []
