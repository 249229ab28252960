"""docs/tutorial.md, walked through."""

import re
from pathlib import Path

import pytest

from siloseal.federation.config.loading import parse_config
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job

from .pages import ROOT
from .walking import saved_files, script, walk

TEXT = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")


def test_every_file_and_command_of_the_text_is_in_the_script() -> None:
    assert len(re.findall(r"ave this\s+as", TEXT)) == script(TEXT).count("<<'END_OF_FILE'")
    assert script(TEXT).count("siloseal silo --config") == 3


def test_the_mistake_that_is_shown_is_answered_in_these_words() -> None:
    job = saved_files(TEXT)["job.yaml"]
    shown = re.search(r"```text\nerror: (.*)\n  hint: (.*)\n```", TEXT)
    assert shown is not None
    with pytest.raises(ConfigError) as caught:
        parse_config(Job, job.replace("epsilon: 8", "epsilom: 8"), name="job.yaml")
    assert str(caught.value) == f"{shown[1]}; {shown[2]}"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_tutorial_works_from_top_to_bottom(tmp_path: Path) -> None:
    text = walk(TEXT, tmp_path)
    assert "unbroken" in text
    assert "differential privacy for one example" in text
    for made in ("threes.png", "digits.png", "runs/tutorial/report.html", "kits/aggregator/state/global.safetensors"):
        assert (tmp_path / made).is_file()
