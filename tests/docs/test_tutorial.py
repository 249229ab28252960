"""docs/tutorial.md, walked through as it stands: its files are saved, its commands are typed in order."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from siloseal.federation.config.loading import parse_config
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.provisioning.addresses import free_port

from .pages import ROOT

TEXT = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
FILE = r"[Ss]ave this\s+as\s+`(?P<path>[^`]+)`:\n\n```\w+\n(?P<content>.*?)```"
STEP = re.compile(rf"{FILE}|```sh\n(?P<commands>.*?)```", re.DOTALL)


def script() -> str:
    """One shell script that does what the reader is told to do, and fails where a command fails."""
    lines = [
        "set -eu",
        f'siloseal() {{ "{sys.executable}" -m siloseal "$@"; }}',
        f'python() {{ "{sys.executable}" "$@"; }}',
    ]
    for step in STEP.finditer(TEXT):
        if step["path"]:
            folder = Path(step["path"]).parent
            lines.append(f"mkdir -p {folder}\ncat > {step['path']} <<'END_OF_FILE'\n{step['content']}END_OF_FILE")
        else:
            lines.append(step["commands"])
    return "\n".join(lines).replace("8443", str(free_port()))


def test_every_file_and_command_of_the_text_is_in_the_script() -> None:
    assert len(re.findall(r"ave this\s+as", TEXT)) == script().count("<<'END_OF_FILE'")
    assert script().count("siloseal silo --config") == 3


def test_the_mistake_that_is_shown_is_answered_in_these_words() -> None:
    (job,) = (step["content"] for step in STEP.finditer(TEXT) if step["path"] == "job.yaml")
    shown = re.search(r"```text\nerror: (.*)\n  hint: (.*)\n```", TEXT)
    assert shown is not None
    with pytest.raises(ConfigError) as caught:
        parse_config(Job, job.replace("epsilon: 8", "epsilom: 8"), name="job.yaml")
    assert str(caught.value) == f"{shown[1]}; {shown[2]}"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_tutorial_works_from_top_to_bottom(tmp_path: Path) -> None:
    with (tmp_path / "shown.txt").open("w") as shown:
        shell = subprocess.Popen(
            ["bash", "-c", script()], cwd=tmp_path, stdout=shown, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = shell.wait()
        finally:
            with suppress(ProcessLookupError):  # whoever is left of its parties, if a command failed
                os.killpg(shell.pid, signal.SIGKILL)
    text = (tmp_path / "shown.txt").read_text()
    assert code == 0, text
    assert "unbroken" in text
    assert "differential privacy for one example" in text
    for made in ("threes.png", "digits.png", "runs/tutorial/report.html", "kits/aggregator/state/global.safetensors"):
        assert (tmp_path / made).is_file()
