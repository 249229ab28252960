"""A job between institutions names the digest of everything of the user's own."""

from pathlib import Path
from typing import Any

import pytest

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.learner_kind import LearnerKind
from siloseal.federation.job.sections.supervised import ClassifierConfig, PythonConfig
from siloseal.models.user_code.pinning import code_folder, missing_digests, pinned, require_pinned
from siloseal.models.user_code.source import file_digest, source_of

from .conftest import Write


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
    assert (full.source, full.weights_source, full.weights) == (source, weights, here / "first.safetensors")
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


def test_a_built_in_network_needs_none() -> None:
    learner = classifier(model="mlp")
    require_pinned(learner)
    assert (pinned(learner), code_folder(learner)) == (learner, None)
