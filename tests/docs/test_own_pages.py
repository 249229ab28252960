"""The templates that a user copies: the network runs as its page says, and the learners keep every promise."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import siloseal
from siloseal.federation.job.sections.supervised import PythonConfig
from siloseal.models.own_learner import build_own_learner
from siloseal.models.user_code import places
from tests.silo.training.test_device import META, SHAPE, trainer, undecided  # noqa: F401 (a fixture)

from .pages import ROOT, blocks

MODEL, LEARNER = (ROOT / "docs" / name for name in ("own-model.md", "own-learner.md"))


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with every file of both pages, by the name in its first line."""
    for code in (*blocks(MODEL, "python"), *blocks(LEARNER, "python")):
        (name,) = re.findall(r"\A# (\w+\.py)\n", code)
        (tmp_path / name).write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "_FOLDERS", [])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    for name in ("xray", "mylearner", "mygan"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_the_network_is_trained_as_its_page_says(written: Path) -> None:
    job, _ = blocks(MODEL, "yaml")
    (written / "xray.yaml").write_text(job)
    summary = siloseal.simulate(siloseal.load_job("xray.yaml"), "run")
    assert summary.accuracy["final"] > 0.5  # ten digits, of which chance names a tenth


@pytest.mark.parametrize(
    ("target", "settings"),
    [
        ("mylearner:Regression", {"shape": (1, 6, 6), "classes": 0, "options": {"hidden": 4}}),
        ("mygan:TinyGan", {"shape": (1, 6, 6), "classes": 3, "options": {"latent": 4}}),
    ],
)
def test_the_learners_keep_every_promise(written: Path, target: str, settings: dict[str, Any]) -> None:
    found = siloseal.check_learner(target, **settings)
    assert [(each.promise, each.found) for each in found if each.outcome == "broken"] == []


@pytest.mark.usefixtures("undecided")
@pytest.mark.parametrize("name", ["mylearner:Regression", "mygan:TinyGan"])
def test_the_learners_train_on_another_device_and_answer_from_main_memory(written: Path, name: str) -> None:
    """Torch's meta device has no numbers, so a copy to main memory cannot be made: it must at least be tried."""
    config = PythonConfig(kind="python", target=name)
    places.look_in(written)
    learner = build_own_learner(config, SHAPE, 0, seed=0)
    trainer(learner, META).train(2, phase="phase_1")
    for network in (learner.private_module, learner.shared_model):
        assert {parameter.device for parameter in network.parameters()} == {META}
    for answer in (learner.vector, learner.state):
        with pytest.raises(NotImplementedError):
            answer()


def test_the_table_has_every_member_of_the_protocol() -> None:
    text = LEARNER.read_text()
    members = {name for kind in siloseal.ExampleLearner.__mro__ for name in vars(kind) if not name.startswith("_")}
    assert [name for name in members if not re.search(rf"`{name}\b", text)] == []
