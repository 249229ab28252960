"""`siloseal adapt`: somebody's own folders, and a released model."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from PIL import Image

from siloseal.federation.errors import ConfigError, DataError, RunError
from siloseal.federation.job.sections.few_shot import ProtonetConfig, ReptileConfig
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.models.gan.building import build_generator
from siloseal.models.meta.building import FewShotConfig, build_few_shot_model
from siloseal.models.model_files import model_file
from siloseal.runs.adapting import accuracy, adapt, write_predictions

PROTONET = ProtonetConfig(kind="protonet", network="wavelets")


def model_in(folder: Path, config: FewShotConfig = PROTONET, channels: int = 1) -> Path:
    path = folder / "global.safetensors"
    shape = (channels, 16, 16)
    path.write_bytes(model_file(config, shape, 1, build_few_shot_model(config, shape, seed=1)))
    return path


def stripes(path: Path, *, upright: bool, shift: int, dark: bool = False) -> None:
    """A picture of stripes, larger than the model's images and in colour."""
    rows = (torch.arange(24) + shift) // 3 % 2 * 200
    picture = rows.expand(24, 24) if upright else rows[:, None].expand(24, 24)
    picture = 255 - picture if dark else picture
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture.to(torch.uint8).numpy()).convert("RGB").save(path)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for number in range(3):
        for name in ("lying", "upright"):
            for part in ("support", "query"):
                shift = number + 3 * (part == "query")
                stripes(tmp_path / part / name / f"{number}.png", upright=name == "upright", shift=shift)
    return tmp_path / "support", tmp_path / "query"


@pytest.mark.parametrize(
    "config", [PROTONET, ReptileConfig(kind="reptile", filters=16, inner_steps=20)], ids=lambda c: c.kind
)
def test_new_images_are_named_after_the_folders_they_resemble(config, folders, tmp_path: Path) -> None:
    predictions = adapt(model_in(tmp_path, config), *folders)
    assert [Path(p.file).name for p in predictions] == ["0.png", "1.png", "2.png"] * 2
    assert [p.actual for p in predictions] == ["lying"] * 3 + ["upright"] * 3
    assert accuracy(predictions) == 1.0
    assert all(0.5 < p.confidence <= 1 for p in predictions)


def test_images_without_class_folders_are_named_too(folders, tmp_path: Path) -> None:
    support, query = folders
    predictions = adapt(model_in(tmp_path), support, query / "upright")
    assert [(p.predicted, p.actual) for p in predictions] == [("upright", None)] * 3
    assert accuracy(predictions) is None


def test_inverting_makes_dark_on_light_what_the_model_knows(tmp_path: Path) -> None:
    for dark, part in ((False, "light"), (True, "dark")):
        for shift, role in ((0, "support"), (1, "query")):
            stripes(tmp_path / part / role / "a" / "0.png", upright=True, shift=shift, dark=dark)
            stripes(tmp_path / part / role / "b" / "0.png", upright=False, shift=shift, dark=dark)
    model = model_in(tmp_path)
    usual = adapt(model, tmp_path / "light" / "support", tmp_path / "light" / "query")
    inverted = adapt(model, tmp_path / "dark" / "support", tmp_path / "dark" / "query", invert=True)
    assert [p.confidence for p in usual] == pytest.approx([p.confidence for p in inverted], abs=1e-5)


class TestMistakes:
    def test_one_class_is_no_task(self, folders, tmp_path: Path) -> None:
        stripes(tmp_path / "lonely" / "lying" / "0.png", upright=False, shift=0)
        with pytest.raises(DataError, match=r"/lonely .* lying"):
            adapt(model_in(tmp_path), tmp_path / "lonely", folders[1])

    def test_a_query_folder_of_an_unknown_class_is_refused(self, folders, tmp_path: Path) -> None:
        stripes(tmp_path / "query" / "slanted" / "0.png", upright=False, shift=0)
        with pytest.raises(DataError, match=r"\['slanted'\].*\['lying', 'upright'\]"):
            adapt(model_in(tmp_path), *folders)

    def test_images_to_name_do_not_lie_among_those_to_learn_from(self, folders, tmp_path: Path) -> None:
        support, query = folders
        stripes(support / "query" / "0.png", upright=True, shift=0)
        for support_folder, query_folder in (
            (support, support / "query"),
            (support, support),
            (query / "lying", query),
        ):
            with pytest.raises(DataError, match=f"{query_folder} .*{support_folder} "):
                adapt(model_in(tmp_path), support_folder, query_folder)

    def test_images_beside_class_folders_are_not_passed_over(self, folders, tmp_path: Path) -> None:
        stripes(folders[1] / "loose.png", upright=True, shift=0)
        with pytest.raises(DataError, match=r"/query .* 1 files"):
            adapt(model_in(tmp_path), *folders)

    def test_a_damaged_picture_is_named(self, folders, tmp_path: Path) -> None:
        (tmp_path / "query" / "lying" / "1.png").write_bytes(b"\x89PNG nothing more")
        with pytest.raises(DataError, match=r"lying/1\.png"):
            adapt(model_in(tmp_path), *folders)

    def test_a_missing_folder_is_named(self, folders, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="/elsewhere "):
            adapt(model_in(tmp_path), folders[0], tmp_path / "elsewhere")

    def test_a_generator_learns_no_tasks(self, folders, tmp_path: Path) -> None:
        config = GanConfig(latent=4)
        path = tmp_path / "gan.safetensors"
        path.write_bytes(model_file(config, (1, 8, 8), 3, build_generator(config, (1, 8, 8), 3, seed=0)))
        with pytest.raises(ConfigError, match="`siloseal sample`"):
            adapt(path, *folders)

    def test_a_damaged_model_is_refused(self, folders, tmp_path: Path) -> None:
        path = model_in(tmp_path)
        path.write_bytes(path.read_bytes()[:-40])
        with pytest.raises(RunError, match=path.name):
            adapt(path, *folders)

    def test_a_place_that_cannot_be_written_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"predictions\.csv"):
            write_predictions(tmp_path / "nowhere" / "predictions.csv", [])


def test_the_command_prints_json_and_writes_every_prediction(folders, tmp_path: Path) -> None:
    support, query = folders
    model, out = model_in(tmp_path), tmp_path / "predictions.csv"
    command = [sys.executable, "-m", "siloseal", "adapt", "--model", model, "--support", support, "--query", query]
    done = subprocess.run([*command, "--out", out, "--json"], capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    assert document["accuracy"] == 1.0
    assert len(document["predictions"]) == 6
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["predicted"] for row in rows] == [entry["predicted"] for entry in document["predictions"]]
