"""A file of a model may name code; it runs none that neither its reader nor the job beside it names."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from siloseal.federation.config.loading import to_yaml
from siloseal.federation.errors import CodeMismatch, ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.supervised import ClassifierConfig
from siloseal.models.classifier.building import build_network
from siloseal.models.model_files import model_file, read_model
from siloseal.models.user_code.pinning import pinned
from siloseal.models.vectors import flatten

from .user_code.conftest import Write

NET = "import torch\ndef build(shape, classes):\n    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, classes))\n"
LEARNER = ClassifierConfig(kind="classifier", model="own_net:build")


@pytest.fixture(params=["as the job has it", "pinned"])
def learner(request: pytest.FixtureRequest, write: Write) -> ClassifierConfig:
    write(own_net=NET)
    return LEARNER if request.param != "pinned" else pinned(LEARNER)


@pytest.fixture
def file(learner: ClassifierConfig, tmp_path: Path) -> Path:
    (folder := tmp_path / "run").mkdir()
    network = build_network(learner, (2, 2), 3, seed=1)
    (folder / "global.safetensors").write_bytes(model_file(learner, (2, 2), 3, network))
    return folder / "global.safetensors"


def test_the_code_runs_if_the_reader_names_it(file: Path, learner: ClassifierConfig) -> None:
    found = read_model(file, code="own_net:build").network
    assert torch.equal(flatten([found]), flatten([build_network(learner, (2, 2), 3, seed=1)]))
    for code in (None, "own_net:other"):
        with pytest.raises(ConfigError, match="own_net:build"):
            read_model(file, code=code)


@pytest.mark.parametrize("name", ["config.yaml", "job.yaml"])
def test_the_code_runs_if_the_job_beside_the_file_names_it(
    file: Path, learner: ClassifierConfig, small_job: Callable[..., Job], name: str
) -> None:
    job = small_job(learner=learner.model_dump(), evaluation={})
    file.with_name(name).write_text(to_yaml(job))
    assert read_model(file).learner == pinned(learner)
    with pytest.raises(ConfigError, match="own_net:build"):
        read_model(file, code="own_net:other")
    other = small_job(learner={"kind": "classifier", "model": "own_net:other"}, evaluation={})
    file.with_name(name).write_text(to_yaml(other))
    with pytest.raises(ConfigError, match="own_net:build"):
        read_model(file)


@pytest.mark.parametrize("is_pinned", [True, False], ids=["pinned", "not_pinned"])
def test_a_file_is_refused_with_another_source_than_it_was_trained_with(
    write: Write, tmp_path: Path, *, is_pinned: bool
) -> None:
    write(own_net=NET)
    learner, trained_with = pinned(LEARNER) if is_pinned else LEARNER, str(pinned(LEARNER).source)
    network = build_network(learner, (2, 2), 3, seed=1)
    (tmp_path / "global.safetensors").write_bytes(model_file(learner, (2, 2), 3, network))
    write(own_net=f"{NET}\n")
    with pytest.raises(CodeMismatch) as refused:
        read_model(tmp_path / "global.safetensors", code="own_net:build")
    assert all(digest in str(refused.value) for digest in (trained_with, str(pinned(LEARNER).source)))


def test_a_file_holds_the_digest_of_the_code_that_ran_and_not_of_what_lies_there_later(
    write: Write, tmp_path: Path
) -> None:
    write(own_net=NET)
    ran, network = pinned(LEARNER), build_network(LEARNER, (2, 2), 3, seed=1)
    write(own_net=f"{NET}\n")
    (tmp_path / "global.safetensors").write_bytes(model_file(LEARNER, (2, 2), 3, network))
    write(own_net=NET)
    assert read_model(tmp_path / "global.safetensors", code="own_net:build").learner == ran


@pytest.mark.parametrize("target", ["os:system", "subprocess:run", "siloseal:simulate"])
def test_no_file_can_name_python_itself(file: Path, target: str) -> None:
    network = torch.nn.Linear(4, 3)
    learner = ClassifierConfig(kind="classifier", model=target)
    file.write_bytes(model_file(learner, (2, 2), 3, network))
    for code in (None, target):
        with pytest.raises(ConfigError):
            read_model(file, code=code)


def test_the_file_of_first_weights_is_not_needed_to_read_what_was_trained(tmp_path: Path) -> None:
    learner = ClassifierConfig(kind="classifier", model="logistic", weights=tmp_path / "gone.safetensors")
    network = build_network(learner.model_copy(update={"weights": None}), (2, 2), 3, seed=1)
    (tmp_path / "global.safetensors").write_bytes(model_file(learner, (2, 2), 3, network))
    assert torch.equal(flatten([read_model(tmp_path / "global.safetensors").network]), flatten([network]))
