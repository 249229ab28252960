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


EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_in_python_prints_what_it_says(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(code, {})  # noqa: S102 (our own text)
    (promised,) = re.findall(r"^print\(.*\)  # ([^:\n]*)", code, re.MULTILINE)
    assert capsys.readouterr().out == f"{promised}\n"


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 3
