"""`siloseal export`: what is written gives the same outputs elsewhere, for batches of another size."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import nn

import siloseal
from siloseal.federation.errors import ConfigError, RunError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.few_shot import ProtonetConfig
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.federation.job.sections.learners import AnyLearner
from siloseal.federation.job.sections.supervised import BUILT_IN_NETWORKS, ClassifierConfig, PythonConfig
from siloseal.federation.shapes import Shape
from siloseal.models.classifier.building import build_network
from siloseal.models.gan.building import build_generator
from siloseal.models.meta.building import build_few_shot_model
from siloseal.models.model_files import StoredModel, model_file, read_model, shared_model_file
from siloseal.models.own_learner import build_own_learner
from siloseal.models.user_code.places import look_in
from siloseal.runs.exporting import Format, signature_of
from tests.siloseal.runs import odd_networks

ROWS = 7
"""Rows of the batch that is tried: not as many as the network was traced with."""
TOLERANCE = 1e-5
OTHER_SHAPES: dict[str, Shape] = {"logistic": (7,), "cnn": (3, 16, 16), "scattering": (3, 16, 16)}
"""Shapes of an example where it is not one small grey image."""


def runtime() -> Any:
    """onnxruntime. A machine without it skips the test; continuous integration must have it."""
    if os.environ.get("CI"):
        import onnxruntime

        return onnxruntime
    return pytest.importorskip("onnxruntime")


def classifier(name: str) -> ClassifierConfig:
    return ClassifierConfig(kind="classifier", model=name)


def write(folder: Path, learner: AnyLearner, shape: Shape, classes: int, network: nn.Module) -> Path:
    path = folder / "global.safetensors"
    path.write_bytes(model_file(learner, shape, classes, network))
    return path


look_in(Path(__file__).parents[2] / "contracts")  # where the learner of a user's own lies
look_in(Path(__file__).parent)
OWN = "own_learner:Halves"
CASES = {
    **{name: (OTHER_SHAPES.get(name, (1, 16, 16)), classifier(name)) for name in BUILT_IN_NETWORKS},
    "small generator": ((1, 8, 8), GanConfig(latent=4)),
    "convolutional generator": ((1, 16, 16), GanConfig(latent=4)),
    "own": ((5,), PythonConfig(kind="python", target=OWN, options={"target": 0.5})),
}


@pytest.fixture(params=CASES)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    shape, learner = CASES[request.param]
    match learner:
        case GanConfig():
            network: nn.Module = build_generator(learner, shape, 4, seed=1)
        case PythonConfig():
            network = build_own_learner(learner, shape, 4, seed=1).shared_model
        case _:
            network = build_network(learner, shape, 4, seed=1)
    return write(tmp_path, learner, shape, 4, network)


def read(path: Path) -> StoredModel:
    return read_model(path, code=OWN)


def batch(path: Path) -> dict[str, torch.Tensor]:
    """Inputs by name, as many as nobody traced with."""
    generator = torch.Generator().manual_seed(0)
    taken = signature_of(read(path), path).inputs
    return {
        name: torch.randint(4, (ROWS,), generator=generator)
        if example.dtype == torch.int64
        else torch.randn(ROWS, *example.shape[1:], generator=generator)
        for name, example in taken.items()
    }


def outputs(path: Path, inputs: dict[str, torch.Tensor]) -> np.ndarray:
    with torch.no_grad():
        return read(path).network.eval()(*inputs.values()).numpy()


def test_a_torch_program_gives_the_same_outputs(stored: Path, tmp_path: Path) -> None:
    siloseal.export(stored, tmp_path / "model.pt2", to="torch", code=OWN)
    program, inputs = torch.export.load(tmp_path / "model.pt2").module(), batch(stored)
    with torch.no_grad():
        found = program(*inputs.values()).numpy()
    assert found == pytest.approx(outputs(stored, inputs), abs=TOLERANCE)


def test_an_onnx_model_gives_the_same_outputs_under_its_names(stored: Path, tmp_path: Path) -> None:
    onnxruntime = runtime()
    siloseal.export(stored, tmp_path / "model.onnx", to="onnx", code=OWN)
    session, inputs = onnxruntime.InferenceSession(tmp_path / "model.onnx"), batch(stored)
    assert [one.name for one in session.get_inputs()] == list(inputs)
    assert [one.name for one in session.get_outputs()] == [signature_of(read(stored), stored).output]
    (found,) = session.run(None, {name: value.numpy() for name, value in inputs.items()})
    assert found == pytest.approx(outputs(stored, inputs), abs=TOLERANCE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["global.safetensors", "model.onnx"]


class TestRefusals:
    def test_a_few_shot_model_is_no_network_that_takes_a_batch(self, tmp_path: Path) -> None:
        learner = ProtonetConfig(kind="protonet", network="wavelets")
        path = write(tmp_path, learner, (1, 16, 16), 1, build_few_shot_model(learner, (1, 16, 16), seed=0))
        with pytest.raises(ConfigError, match="`siloseal adapt`"):
            siloseal.export(path, tmp_path / "model.pt2", to="torch")

    def test_what_silos_share_is_no_whole_model(self, tmp_path: Path) -> None:
        learner = ClassifierConfig(kind="classifier", model="logistic", local=("1.*",))
        path = tmp_path / "global.safetensors"
        path.write_bytes(shared_model_file(learner, (4,), 2, build_network(learner, (4,), 2, seed=0)))
        with pytest.raises(ConfigError, match=r"learner\.local"):
            siloseal.export(path, tmp_path / "model.pt2", to="torch")

    def test_a_network_that_cannot_be_traced_is_named(self, tmp_path: Path) -> None:
        learner = classifier(code := "odd_networks:untraceable")
        path = write(tmp_path, learner, (4,), 2, odd_networks.untraceable((4,), 2))
        with pytest.raises(RunError, match=r"global\.safetensors"):
            siloseal.export(path, tmp_path / "model.pt2", to="torch", code=code)
        assert not (tmp_path / "model.pt2").exists()

    @pytest.mark.parametrize("to", get_args(Format))
    @pytest.mark.parametrize("name", ["InParts", "ByTheBatch", "Drawing"])
    def test_a_network_that_knows_the_size_of_its_batch_or_draws_is_not_written(
        self, small_job: Callable[..., Job], tmp_path: Path, name: str, to: Format
    ) -> None:
        """Traced with two rows, each would be written as a program that is wrong for three."""
        if to == "onnx":
            runtime()
        learner = classifier(f"odd_networks:{name}")
        path = write(tmp_path, learner, (4,), 2, getattr(odd_networks, name)((4,), 2))
        job = small_job(learner=learner.model_dump(), evaluation={})  # beside the model, so that its code may run
        (tmp_path / "config.yaml").write_text(job.model_dump_json())
        with pytest.raises(RunError):
            siloseal.export(path, tmp_path / "model", to=to)
        assert not (tmp_path / "model").exists()

    def test_another_format_and_a_place_that_cannot_be_written_are_said(self, tmp_path: Path) -> None:
        path = write(tmp_path, classifier("logistic"), (4,), 2, build_network(classifier("logistic"), (4,), 2, seed=0))
        with pytest.raises(ConfigError, match="'tflite'"):
            siloseal.export(path, tmp_path / "model", to="tflite")  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match=r"nowhere/model\.pt2"):
            siloseal.export(path, tmp_path / "nowhere" / "model.pt2", to="torch")


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    """An interpreter in which the packages are not to be found, as where nobody installed them."""
    path = write(tmp_path, classifier("logistic"), (4,), 2, build_network(classifier("logistic"), (4,), 2, seed=0))
    blocked = "import sys; sys.modules['onnxscript'] = None; sys.argv[0] = 'siloseal'; from siloseal.cli.app import main; main()"
    command = [sys.executable, "-c", blocked, "export", "--model", path, "--to", "onnx", "--out", tmp_path / "m.onnx"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "siloseal[export]" in done.stderr


def test_the_command_prints_the_path(tmp_path: Path) -> None:
    path = write(tmp_path, classifier("mlp"), (4,), 2, build_network(classifier("mlp"), (4,), 2, seed=0))
    command = [
        sys.executable,
        "-m",
        "siloseal",
        "export",
        "--model",
        path,
        "--to",
        "torch",
        "--out",
        tmp_path / "m.pt2",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path / 'm.pt2'}\n"
    assert torch.export.load(tmp_path / "m.pt2").module()(torch.zeros(5, 4)).shape == (5, 2)
