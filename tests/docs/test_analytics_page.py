"""The consortium of docs/analytics.md, walked through: it answers queries and trains nothing."""

import re
from pathlib import Path

from .pages import ROOT
from .walking import walk

TEXT = (ROOT / "docs/analytics.md").read_text(encoding="utf-8").partition("## Between hospitals")[2]


def test_its_example_prints_answers(tmp_path: Path) -> None:
    text = walk(TEXT, tmp_path)
    mean = re.search(r"mean +│ +([\d.]+) │", text)
    assert mean is not None
    assert 50 < float(mean[1]) < 60
    assert "epsilon 2.00" in text
    assert "(2.00, 1e-6)" in (tmp_path / "north.log").read_text()
    assert (tmp_path / "kits/aggregator/state/answers.json").is_file()
