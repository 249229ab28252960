"""docs/sums.md is what the schemes say, and no config says it in other words."""

import re
from pathlib import Path
from typing import get_args

import pytest

from siloseal.federation.sums.config import SumKind, exposures
from siloseal.reference.sums_page import sums_page

ROOT = Path(__file__).parents[3]
SAYS_IT_AGAIN = re.compile(r"aggregator (learns|sees|reads)|read every upload|sees? its vector|holds? the whole key")


@pytest.mark.parametrize("kind", get_args(SumKind))
def test_the_page_has_every_sum_in_every_table(kind: SumKind) -> None:
    assert sums_page().count(f"\n| `{kind}`") == 3
    assert exposures()[kind].aggregator_learns in sums_page()


def test_no_shipped_config_says_who_learns_what() -> None:
    files = [*(ROOT / "configs").glob("*.yaml"), ROOT / "siloseal" / "runs" / "demo.yaml"]
    assert [path.name for path in files if SAYS_IT_AGAIN.search(path.read_text())] == []
    assert SAYS_IT_AGAIN.search("# any of them and the aggregator together read every upload")
