"""The examples in the docstrings of everything public, run one after the other as a reader would type them."""

import doctest
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

import siloseal
from siloseal.federation.job.sections.few_shot import ProtonetConfig
from siloseal.federation.job.sections.supervised import ClassifierConfig
from siloseal.models.classifier.building import build_network
from siloseal.models.meta.building import build_few_shot_model
from siloseal.models.model_files import model_file

PLACES = {"siloseal": siloseal, **{name: getattr(siloseal, name) for name in siloseal.__all__}}
"""Everything public that has a docstring, the package included."""
SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 3, "tuning_rounds": 1, "tuning_steps": 2}


def examples_of(name: str) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(PLACES[name].__doc__ or "")  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, small_sections: dict[str, Any]) -> Iterator[Path]:
    """The folder in which a reader works: a job, a finished run of it, and models of other kinds with images."""
    folder, before = tmp_path_factory.mktemp("reader"), Path.cwd()
    os.chdir(folder)
    try:
        job = {**small_sections, "name": "first", "schedule": SHORT}
        Path("job.yaml").write_text(yaml.safe_dump(job))
        siloseal.simulate(siloseal.load_job("job.yaml"), "runs/first")
        alter_a_ledger()
        learner = ProtonetConfig(kind="protonet", network="wavelets")
        network = build_few_shot_model(learner, (1, 16, 16), seed=1)
        Path("few-shot.safetensors").write_bytes(model_file(learner, (1, 16, 16), 1, network))
        named = ClassifierConfig(kind="classifier", model="logistic")
        network = build_network(named, (1, 8, 8), 10, seed=1)
        Path("classifier.safetensors").write_bytes(model_file(named, (1, 8, 8), 10, network))
        Path("mylearner.py").write_text(class_of("ModuleLearner"))
        for number, (name, rows) in enumerate({"lying": stripes(), "upright": stripes().T}.items()):
            for path in (Path("support", name, "0.png"), Path("query", f"{number}.png")):
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(rows).save(path)
        yield folder
    finally:
        os.chdir(before)


def class_of(name: str) -> str:
    """The file with the class that an example defines."""
    source = [example.source for example in examples_of(name) if example.source.startswith(("import", "class"))]
    return "import siloseal\n" + "".join(source)


def alter_a_ledger() -> None:
    """Copy the run, and take the first charge out of a ledger of the copy."""
    shutil.copytree("runs/first", "runs/altered")
    ledger = Path("runs/altered/silos/north/ledger.jsonl")
    first, _, *others = ledger.read_text().splitlines(keepends=True)
    ledger.write_text("".join([first, *others]))


def stripes() -> np.ndarray:
    return np.repeat((np.arange(16) // 2 % 2 * 200).astype(np.uint8)[:, None], 16, axis=1)


@pytest.mark.parametrize("name", PLACES)
def test_everything_public_has_an_example_that_prints_what_it_says(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = examples_of(name)
    assert examples
    test = doctest.DocTest(examples, {"siloseal": siloseal}, name, None, None, None)
    found = doctest.DocTestRunner(verbose=False).run(test)
    assert found.failed == 0, capsys.readouterr().out


def test_the_first_session_uses_every_function() -> None:
    """But those for other models, and for other places."""
    source = "".join(example.source for example in examples_of("siloseal"))
    functions = {name for name in siloseal.__all__ if name.islower()}
    left_out = {"adapt", "check_learner", "export", "open_session", "predict"}
    assert {name for name in functions if f"siloseal.{name}(" not in source} == left_out
