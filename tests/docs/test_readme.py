"""The README: short, and true where it shows a number."""

import re

from .pages import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
DEMO = (ROOT / "docs/results/demo.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "docs/results/README.md").read_text(encoding="utf-8")
DOORS = ["Use it", "Operate it", "Trust it", "Compare", "Change it", "Look it up"]


def test_it_is_short_and_has_every_door() -> None:
    assert len(README.splitlines()) <= 160
    assert re.findall(r"^\*\*(.*)\*\*$", README.split("\n## Doors\n")[1], re.MULTILINE) == DOORS


def test_what_it_is_not_for_stands_before_the_first_command() -> None:
    assert README.index("What it is not for") < README.index("```sh")


def test_the_table_of_the_demo_is_that_of_a_run() -> None:
    section = README.split("\n## Two commands\n")[1].split("\n## ")[0]
    shown = re.findall(r"^\| (.*) \| (0\.\d+) \|$", section, re.MULTILINE)
    written = dict(re.findall(r"^\| (.*) \| (0\.\d+) \|$", DEMO, re.MULTILINE))
    stages = (
        "Warm start",
        "Phase 1 average",
        "Final",
        "Best silo alone, at the same epsilon",
        "Real data instead of generated",
    )
    assert [value for _, value in shown] == [written[stage] for stage in stages]
    (time,) = re.findall(r"\[(.*)\]\(docs/results/demo\.md\)", section)
    assert f"of {time};" in DEMO
    assert f"epsilon {re.findall(r'Epsilon is ([0-9.]+)', section)[0]} at most" in DEMO


def test_costs_in_the_comparison_with_others_are_those_of_the_measured_chapter() -> None:
    section = README.split("\n## How it compares\n")[1].split("\n## ")[0]
    (chapter,) = (chapter for chapter in RESULTS.split("\n## ") if "configs/compare-sums.yaml" in chapter)
    assert "siloseal compare configs/compare-sums.yaml" in section
    rows = {
        row[0]: row for row in re.findall(r"^\| (\w[^|]*?) \| 10 \| (.*?) \| .*? \| (.*?) \|", chapter, re.MULTILINE)
    }
    titles = {"ckks": "CKKS", "secagg": "SecAgg", "ckks_one_key": "CKKS one key"}
    (sent,) = re.findall(r"^\| a silo sends, .*$", section, re.MULTILINE)
    (computed,) = re.findall(r"^\| a silo computes .*$", section, re.MULTILINE)
    for kind, title in titles.items():
        assert re.search(rf"{re.escape(rows[title][1])} \([^|]*`{kind}`\)", sent), (kind, rows[title])
        assert re.search(rf"{re.escape(rows[title][2])} \(`{kind}`\)", computed), (kind, rows[title])
