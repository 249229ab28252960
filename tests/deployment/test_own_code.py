"""A network of a user's own among real processes: each party has its file, and none runs another."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siloseal.federation.job.sections.supervised import ClassifierConfig
from siloseal.models.user_code import places
from siloseal.models.user_code.pinning import pinned

from .conftest import NAMES, ONE_STEP, POLICY, SHORT, Consortium

NET = """\
from torch import nn


def build(shape, classes):
    layers = nn.Conv2d(shape[0], 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, classes)
    return nn.Sequential(*layers)
"""
LEARNER = ClassifierConfig(kind="classifier", model="own_network:build")


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file as its author gives it to everyone."""
    (folder := tmp_path / "code").mkdir()
    (folder / "own_network.py").write_text(NET)
    monkeypatch.setattr(places, "_FOLDERS", [folder])
    return folder


def with_code(consortium: Consortium, code: Path, learner: ClassifierConfig) -> Consortium:
    """Everyone copies the file, and lists it."""
    for party in ("aggregator", *NAMES):
        shutil.copytree(code, consortium.kits / party / "own")
        policy = {"policy": {**POLICY, "learners": [learner.policy_entry]}} if party in NAMES else {}
        consortium.edit(party, code="own", **policy)
    return consortium


def sections(learner: ClassifierConfig, **others: Any) -> dict[str, Any]:
    return {"learner": learner.model_dump(mode="json"), "evaluation": {}, **others}


def test_everyone_builds_the_same_network_from_a_file_of_its_own(
    consortium_of: Callable[..., Consortium], code: Path
) -> None:
    learner = pinned(LEARNER)
    consortium = consortium_of(**sections(learner, schedule=SHORT, secure_sum={"kind": "ckks"}))
    with_code(consortium, code, learner).start()
    assert [party.wait() for party in consortium.parties] == [0] * 4, [p.said("error") for p in consortium.parties]
    of_aggregator = (consortium.state("aggregator") / "global.safetensors").read_bytes()
    assert len(of_aggregator) > 1000
    for name in NAMES:
        assert (consortium.run_folder(name) / "global.safetensors").read_bytes() == of_aggregator
    assert str(learner.source) in (consortium.state("aggregator") / "summary.json").read_text()


def test_a_silo_whose_file_is_another_refuses_before_it_trains(
    consortium_of: Callable[..., Consortium], code: Path
) -> None:
    learner = pinned(LEARNER)
    consortium = with_code(consortium_of(**sections(learner, schedule=ONE_STEP)), code, learner)
    changed = consortium.kits / "east" / "own" / "own_network.py"
    changed.write_text(NET.replace("nn.ReLU()", "nn.Tanh()"))
    east = consortium.silos["east"]
    east.impatient = True
    east.start()
    assert consortium.aggregator.start().wait() == 1
    words = east.wait_for("refuses")["words"]
    assert all(word in words for word in ("CodeMismatch", str(changed), str(learner.source)))
    error = consortium.aggregator.wait_for("error")
    assert (error["type"], "CodeMismatch" in error["words"]) == ("SiloRefused", True)
    assert not east.said("takes_part")
    assert not (consortium.state("east") / "runs").exists()


def test_an_aggregator_offers_no_job_without_the_digest(consortium_of: Callable[..., Consortium], code: Path) -> None:
    consortium = with_code(consortium_of(**sections(LEARNER, schedule=ONE_STEP)), code, pinned(LEARNER))
    assert consortium.aggregator.start().wait() == 1
    error = consortium.aggregator.wait_for("error")
    assert (error["type"], f"`source: {pinned(LEARNER).source}`" in error["words"]) == ("ConfigError", True)
    assert not consortium.aggregator.said("serves")


def test_an_aggregator_without_the_file_serves_nobody(consortium_of: Callable[..., Consortium], code: Path) -> None:
    consortium = consortium_of(**sections(pinned(LEARNER), schedule=ONE_STEP))
    assert consortium.aggregator.start().wait() == 1
    assert consortium.aggregator.wait_for("error")["type"] == "ConfigError"
    assert not consortium.aggregator.said("serves")
