"""What the README shows is what happens."""

import re
from pathlib import Path

import pytest

from federation.config.job import Job
from federation.config.loading import load_config

README = Path(__file__).parents[2] / "README.md"


def test_the_commands_of_a_deployment_start_every_silo_of_the_job() -> None:
    """Else the job would wait for ever."""
    job = load_config(Job, README.with_name("configs") / "hospitals.yaml")
    _, section = README.read_text(encoding="utf-8").split("\n## Deploy between hospitals\n")
    (commands,) = re.findall(r"```sh\n(siloseal provision .*?)```", section, re.DOTALL)
    started = re.findall(r"^siloseal silo --config kits/(\w+)/silo\.yaml", commands, re.MULTILINE)
    assert started == list(job.silos.names)


def test_the_example_in_python_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(code, {})  # noqa: S102 (our own text)
    assert capsys.readouterr().out == "[2. 2. 2.]\n"
    assert "# [2. 2. 2.]" in code
