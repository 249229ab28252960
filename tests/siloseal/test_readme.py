"""What the README shows is what happens."""

import re
from pathlib import Path

import pytest

from siloseal.federation.config.loading import load_config
from siloseal.federation.job.job import Job

README = Path(__file__).parents[2] / "README.md"


def test_the_commands_of_a_deployment_start_every_silo_of_the_job() -> None:
    """Else the job would wait for ever."""
    job = load_config(Job, README.with_name("configs") / "hospitals.yaml")
    _, section = README.read_text(encoding="utf-8").split("\n## Deploy between hospitals\n")
    (commands,) = re.findall(r"```sh\n(siloseal provision .*?)```", section, re.DOTALL)
    started = re.findall(r"^siloseal silo --config (\w+)/silo\.yaml", commands, re.MULTILINE)
    assert started == list(job.silos.names)


def test_every_picture_is_there() -> None:
    shown = re.findall(r'!\[[^]]*\]\(([^)]*)\)|<img src="([^"]*)"', README.read_text(encoding="utf-8"))
    assert len(shown) >= 10
    assert [path for pair in shown for path in pair if path and not (README.parent / path).is_file()] == []


QUOTED = re.compile(r"\d[\d.,]* (?:kB|MB|GB|ms|s|dB)\b|\d\.\d+ ± \d\.\d+|\b\d\.\d\d\b")
_, RESULTS = README.read_text(encoding="utf-8").split("\n### What came out\n")
BULLETS = dict(
    re.findall(r"^- \*\*\w+\*\* \(`compare-(\w+)\.yaml`(.*?)(?=\n\n|\n- \*\*)", RESULTS, re.MULTILINE | re.DOTALL)
)


def test_every_comparison_is_told() -> None:
    assert set(BULLETS) == {
        path.stem.removeprefix("compare-") for path in (README.parent / "configs").glob("compare-*")
    }


@pytest.mark.parametrize("name", list(BULLETS))
def test_the_numbers_of_a_comparison_are_those_of_its_chapter(name: str) -> None:
    """docs/results is written by the program; the README quotes it."""
    chapters = (README.parent / "docs/results/README.md").read_text(encoding="utf-8").split("\n## ")
    (chapter,) = (chapter for chapter in chapters if f"configs/compare-{name}.yaml" in chapter)
    quoted = QUOTED.findall(" ".join(BULLETS[name].split()))
    assert quoted or name == "cheating"  # which has no numbers
    assert [number for number in quoted if number.removesuffix(" dB") not in chapter] == []


def test_the_table_of_the_demo_is_that_of_a_run() -> None:
    _, section = README.read_text(encoding="utf-8").split("It ends with tables")
    table = re.findall(r"^\| (.*) \| (0\.\d+) \|$", section.split("![")[0], re.MULTILINE)
    written = dict(
        re.findall(
            r"^\| (.*) \| (0\.\d+) \|$", (README.parent / "docs/results/demo.md").read_text("utf-8"), re.MULTILINE
        )
    )
    stages = (
        "Warm start",
        "Phase 1 average",
        "Final",
        "Best silo alone, at the same epsilon",
        "Real data instead of generated",
    )
    assert [value for _, value in table] == [written[stage] for stage in stages]


EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_in_python_prints_what_it_says(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(code, {})  # noqa: S102 (our own text)
    (promised,) = re.findall(r"^print\(.*\)  # ([^:\n]*)", code, re.MULTILINE)
    assert capsys.readouterr().out == f"{promised}\n"


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 3
