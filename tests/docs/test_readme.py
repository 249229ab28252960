"""The README: short, and true where it shows a number."""

import re

from .pages import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
DEMO = (ROOT / "docs/results/demo.md").read_text(encoding="utf-8")
PRINTED = (ROOT / "docs/results/demo.txt").read_text(encoding="utf-8")
RESULTS = (ROOT / "docs/results/README.md").read_text(encoding="utf-8")
DOORS = ["Use it", "Operate it", "Trust it", "Compare", "Change it", "Look it up"]


def test_it_is_short_and_has_every_door() -> None:
    assert len(README.splitlines()) <= 160
    assert re.findall(r"^\*\*(.*)\*\*$", README.split("\n## Doors\n")[1], re.MULTILINE) == DOORS


def test_what_it_is_not_for_stands_before_the_first_command() -> None:
    assert README.index("What it is not for") < README.index("```sh")


def test_it_begins_with_two_sentences_and_the_picture() -> None:
    title, opening, picture = README.split("\n\n")[:3]
    assert title == "# SiloSeal"
    assert len(re.findall(r"\.(?:\s|$)", opening)) == 2
    assert picture.startswith("![")


def test_what_the_demo_prints_is_that_of_the_published_run() -> None:
    section = README.split("\n## Two commands\n")[1].split("\n## ")[0]
    (shown,) = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    beginning, end = shown.split("...\n")
    assert PRINTED.startswith(beginning)
    assert PRINTED.endswith(end)
    assert [line.split()[0] for line in end.splitlines()] == ["epsilon", "Training", "Not", "report:"]
    assert shown.endswith("\nreport: runs/demo/report.html\n")  # where `make demo` leaves it


def test_the_demos_picture_and_text_are_of_one_run() -> None:
    printed = dict(re.findall(r"^│ ([^│]*?) +│ +(0\.\d+) │$", PRINTED, re.MULTILINE))
    table = re.findall(r"^\| (.*) \| (0\.\d+) \|$", DEMO, re.MULTILINE)
    assert list(printed.values()) == [value for _, value in table]
    (time,) = re.findall(r"One run, of (.*?);", DEMO)
    assert f" · {time}\n" in PRINTED


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
