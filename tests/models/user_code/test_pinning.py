"""A job between institutions names the digest of everything of the user's own."""

import re
from pathlib import Path
from typing import Any

import pytest

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.learner_kind import LearnerKind
from siloseal.federation.job.sections.supervised import ClassifierConfig, PythonConfig
from siloseal.models.user_code.pinning import code_folder, missing_digests, not_deployable, pinned, require_pinned
from siloseal.models.user_code.source import file_digest, source_of

from .conftest import Write

DIGEST = f"sha256:{'0' * 64}"


def classifier(**fields: Any) -> ClassifierConfig:
    return ClassifierConfig.model_validate({"kind": "classifier", "model": "own_net:build", **fields})


@pytest.fixture
def here(write: Write) -> Path:
    home = write(own_net="def build(): ...\n").resolve()
    (home / "first.safetensors").write_bytes(b"weights")
    return home


def test_what_is_missing_is_found_and_filled_in(here: Path) -> None:
    source, weights = source_of("own_net:build").digest, file_digest(here / "first.safetensors")
    learner = classifier(weights="first.safetensors")
    assert missing_digests(learner) == {"source": source, "weights_source": weights}
    full = pinned(learner)
    assert (full.source, full.weights_source, full.weights) == (source, weights, Path("first.safetensors"))
    require_pinned(full)
    assert code_folder(full) == here


@pytest.mark.parametrize(
    "learner",
    [
        classifier(),
        classifier(model="mlp", weights="first.safetensors"),
        PythonConfig(kind="python", target="own_net:build"),
    ],
    ids=["code", "weights", "learner"],
)
def test_a_job_without_a_digest_is_refused_with_the_line_to_add(here: Path, learner: LearnerKind) -> None:
    ((field, digest),) = missing_digests(learner).items()
    with pytest.raises(ConfigError, match=f"`{field}: {digest}`"):
        require_pinned(learner)


@pytest.mark.parametrize("path", ["/somewhere/first", "../first", "a/../../first", "~/first", "${HOME}/first", "$A"])
def test_a_path_of_one_machine_is_refused_in_a_deployment_and_nothing_is_looked_for(path: str) -> None:
    learner = classifier(source=DIGEST, weights=path, weights_source=DIGEST)
    assert len(not_deployable(learner)) == 1
    with pytest.raises(ConfigError, match=re.escape(path)):
        require_pinned(learner)
    assert not_deployable(classifier(source=DIGEST, weights="a/first..safetensors", weights_source=DIGEST)) == []


def test_a_built_in_network_is_pinned_with_the_folder_of_its_weights(here: Path) -> None:
    learner = classifier(model="mlp", weights=here / "first.safetensors")
    full = pinned(learner)
    assert (full.weights, code_folder(learner)) == (Path("first.safetensors"), here)
    require_pinned(full)


def test_weights_elsewhere_than_the_code_cannot_be_pinned(here: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"weights")
    with pytest.raises(ConfigError, match="elsewhere"):
        pinned(classifier(weights=tmp_path / "elsewhere"))


def test_a_built_in_network_needs_none() -> None:
    learner = classifier(model="mlp")
    require_pinned(learner)
    assert (pinned(learner), code_folder(learner)) == (learner, None)
