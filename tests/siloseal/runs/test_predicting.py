"""`siloseal predict`: somebody's own records, and a released classifier."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import siloseal
from siloseal.federation.errors import ConfigError, DataError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.data import AtSilos, ClassFolders, Digits
from siloseal.federation.job.sections.few_shot import ProtonetConfig
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.federation.job.sections.supervised import ClassifierConfig
from siloseal.models.classifier.building import build_network
from siloseal.models.gan.building import build_generator
from siloseal.models.meta.building import build_few_shot_model
from siloseal.models.model_files import model_file, read_model, shared_model_file
from siloseal.runs.predicting import name_records, table_of, write_table
from siloseal.runs.prediction_inputs import framing_of
from siloseal.runs.run import run_job
from siloseal.silo.data.loading import load
from tests.siloseal.runs.test_record_scoring import CLASSIFIER

LOGISTIC = ClassifierConfig(kind="classifier", model="logistic")


def model_in(folder: Path, shape: tuple[int, ...] = (1, 8, 8), classes: int = 3) -> Path:
    path = folder / "global.safetensors"
    path.write_bytes(model_file(LOGISTIC, shape, classes, build_network(LOGISTIC, shape, classes, seed=1)))
    return path


def npz(folder: Path, **arrays: object) -> Path:
    path = folder / "records.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


def pixels(records: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (records, *shape), dtype=np.uint8)


def picture(path: Path, light: int = 100, side: int = 20) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = np.full((side, side), light, dtype=np.uint8)
    rows[side // 2 :, side // 3 :] += 17  # so that resizing it twice is not resizing it once
    Image.fromarray(rows).save(path)


def expected(model: Path, inputs: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return read_model(model).network(torch.from_numpy(inputs.astype(np.float32))).softmax(1).numpy()


class TestArrays:
    @pytest.mark.parametrize("stored", [(4, 8, 8), (4, 8, 8, 1), (4, 1, 8, 8)])
    def test_images_are_read_as_training_reads_them(self, tmp_path: Path, stored: tuple[int, ...]) -> None:
        images = pixels(*stored)
        model = model_in(tmp_path)
        named = name_records(model, npz(tmp_path, images=images))
        assert named.predicted.probabilities == pytest.approx(
            expected(model, images.reshape(4, 1, 8, 8) / 255), abs=1e-6
        )
        assert named.predicted.labels.tolist() == named.predicted.probabilities.argmax(1).tolist()
        assert named.measures is None

    def test_x_of_any_shape_is_taken_as_it_is(self, tmp_path: Path) -> None:
        rows = np.random.default_rng(1).normal(size=(5, 7)).astype(np.float32)
        model = model_in(tmp_path, (7,))
        named = name_records(model, npz(tmp_path, x=rows, y=np.array([0, 1, 2, 0, 1])))
        assert named.predicted.probabilities == pytest.approx(expected(model, rows), abs=1e-6)
        assert named.measures is not None
        right = (named.predicted.labels == [0, 1, 2, 0, 1]).mean()
        assert named.measures.accuracy == pytest.approx(right)

    def test_of_splits_the_test_split_is_named(self, tmp_path: Path) -> None:
        both = {f"{split}_{what}": values for split, count in (("train", 6), ("test", 3))
                for what, values in (("images", pixels(count, 8, 8)), ("labels", np.zeros((count, 1), dtype=np.uint8)))}  # fmt: skip
        named = name_records(model_in(tmp_path), npz(tmp_path, **both))
        assert len(named.predicted.labels) == 3
        assert named.measures is not None

    @pytest.mark.parametrize(
        "arrays",
        [
            {"images": pixels(4, 9, 9)},
            {"images": pixels(4, 8)},
            {"x": np.zeros((4, 64), dtype=np.float32)},
            {"x": pixels(4, 1, 8, 8)},
            {"pictures": pixels(4, 8, 8)},
            {"images": pixels(4, 8, 8), "labels": np.array([0, 1, 2, 3])},
            {"images": pixels(4, 8, 8), "labels": np.zeros(3, dtype=int)},
            {"images": pixels(4, 8, 8), "labels": np.zeros(4)},
        ],
        ids=["size", "shape", "rows", "integers", "names", "class", "labels", "targets"],
    )
    def test_what_the_model_does_not_take_is_refused(self, tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
        with pytest.raises(DataError, match=r"records\.npz"):
            name_records(model_in(tmp_path), npz(tmp_path, **arrays))

    def test_a_wrong_shape_is_said_with_both(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"\(1, 9, 9\).*\(1, 8, 8\)"):
            name_records(model_in(tmp_path), npz(tmp_path, images=pixels(4, 9, 9)))

    @pytest.mark.parametrize("content", [b"", b"PK no archive", b"\x93NUMPY"])
    def test_a_damaged_file_is_refused(self, tmp_path: Path, content: bytes) -> None:
        (path := tmp_path / "records.npz").write_bytes(content)
        with pytest.raises(DataError, match=r"records\.npz"):
            name_records(model_in(tmp_path), path)

    @pytest.mark.parametrize("name", ["records.npz", "records.txt"])
    def test_what_is_not_there_is_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(DataError, match=name):
            name_records(model_in(tmp_path), tmp_path / name)

    def test_another_kind_of_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "records.txt").write_text("1")
        with pytest.raises(DataError, match=r"\.txt"):
            name_records(model_in(tmp_path), tmp_path / "records.txt")


class TestPictures:
    def test_of_one_folder_are_named_by_file(self, tmp_path: Path) -> None:
        for number in range(3):
            picture(tmp_path / "new" / f"{number}.png", 60 * number)
        named = name_records(model_in(tmp_path), tmp_path / "new")
        assert [Path(file).name for file in named.asked.sources] == ["0.png", "1.png", "2.png"]
        assert named.measures is None
        assert named.asked.inputs[1, 0, 0, 0].item() == pytest.approx(60 / 255)

    def test_of_class_folders_have_their_classes(self, tmp_path: Path) -> None:
        for name in ("a", "b", "c"):
            picture(tmp_path / "held" / name / "0.png")
        named = name_records(model_in(tmp_path), tmp_path / "held")
        assert named.asked.labels is not None
        assert named.asked.labels.tolist() == [0, 1, 2]
        assert named.names == ("a", "b", "c")

    def test_of_some_classes_need_the_names_of_all(self, tmp_path: Path) -> None:
        picture(tmp_path / "held" / "c" / "0.png")
        with pytest.raises(DataError, match="--class-names"):
            name_records(model_in(tmp_path), tmp_path / "held")
        named = name_records(model_in(tmp_path), tmp_path / "held", ("a", "b", "c"))
        assert named.asked.labels is not None
        assert named.asked.labels.tolist() == [2]

    def test_of_an_unknown_class_are_refused(self, tmp_path: Path) -> None:
        picture(tmp_path / "held" / "d" / "0.png")
        with pytest.raises(DataError, match=r"\['d'\]"):
            name_records(model_in(tmp_path), tmp_path / "held", ("a", "b", "c"))

    def test_beside_class_folders_are_not_passed_over(self, tmp_path: Path) -> None:
        picture(tmp_path / "held" / "a" / "0.png")
        picture(tmp_path / "held" / "loose.png")
        with pytest.raises(DataError, match="1 files"):
            name_records(model_in(tmp_path), tmp_path / "held")

    def test_are_not_for_models_of_rows(self, tmp_path: Path) -> None:
        picture(tmp_path / "new" / "0.png")
        with pytest.raises(DataError):
            name_records(model_in(tmp_path, (7,)), tmp_path / "new")


class TestARunsFolder:
    def test_gives_names_and_frames_pictures_as_training_did(self, tmp_path: Path) -> None:
        """Held-out pictures are named from the folder as from the training data's own tensors."""
        for name, light in (("dark", 40), ("light", 200)):
            for number in range(8):
                picture(tmp_path / "pictures" / name / f"{number}.png", light + 3 * number, side=12)
        data = {"kind": "folder", "path": str(tmp_path / "pictures"), "side": 12, "margin": 2, "held_out": 0.25}
        job = Job.model_validate({**CLASSIFIER, "data": data, "silos": {"names": ["north", "east"]}, "evaluation": {}})
        run_job(job, tmp_path / "run")
        named = name_records(tmp_path / "run", tmp_path / "pictures")
        assert named.names == ("dark", "light")
        train, held_out = load(job.data)
        known = torch.cat([train.inputs, held_out.inputs])
        assert named.asked.inputs.shape[1:] == (1, 12, 12)
        assert all((known - row).abs().amax((1, 2, 3)).min() < 1e-6 for row in named.asked.inputs)
        assert named.measures is not None
        assert named.measures.auc == 1.0

    def test_frames_arrays_too_and_a_silos_own_file_knows_its_run(self, tmp_path: Path) -> None:
        job = Job.model_validate({**CLASSIFIER, "data": {"kind": "digits", "side": 12, "margin": 2}, "evaluation": {}})
        run_job(job, tmp_path / "run")
        source = npz(tmp_path, images=pixels(3, 8, 8))
        own = tmp_path / "run" / "silos" / "north" / "global.safetensors"
        for model in (tmp_path / "run", own):
            assert name_records(model, source).asked.inputs.shape[1:] == (1, 12, 12)
        shutil.copy(own, tmp_path / "global.safetensors")
        with pytest.raises(DataError):
            name_records(tmp_path / "global.safetensors", source)

    def test_side_and_margin_are_those_of_the_data(self, tmp_path: Path) -> None:
        assert framing_of(ClassFolders(path=tmp_path, side=12, margin=2)) == (12, 2)
        assert framing_of(Digits()) == (None, 0)
        assert framing_of(AtSilos()) == (None, 0)


class TestTheApi:
    def test_arrays_tensors_and_lists_are_named_alike(self, tmp_path: Path) -> None:
        model = model_in(tmp_path, (2,))
        rows = np.random.default_rng(0).normal(size=(4, 2))
        ways = [siloseal.predict(model, way) for way in (rows, torch.from_numpy(rows), rows.tolist())]
        ways.append(siloseal.predict(siloseal.load_model(model), rows))
        for way in ways:
            assert np.array_equal(way.probabilities, ways[0].probabilities)
        assert ways[0].probabilities == pytest.approx(expected(model, rows), abs=1e-6)

    @pytest.mark.parametrize(
        "inputs",
        [
            np.zeros((2, 3)), np.zeros(2), np.zeros((0, 2)), np.zeros((2, 2), dtype=np.uint8), "records", None,
            np.full((2, 2), np.nan), [[1.0, 2.0], [3.0]], {"x": 1},
        ],
        ids=["shape", "one", "none", "integers", "path", "nothing", "nan", "ragged", "mapping"],
    )  # fmt: skip
    def test_other_inputs_are_refused(self, tmp_path: Path, inputs: object) -> None:
        with pytest.raises(DataError):
            siloseal.predict(model_in(tmp_path, (2,)), inputs)  # type: ignore[arg-type]

    def test_a_network_says_which_shape_it_cannot_take(self, tmp_path: Path) -> None:
        network = siloseal.load_model(model_in(tmp_path, (2,)))
        with pytest.raises(DataError, match=r"\(3,\)"):
            siloseal.predict(network, np.zeros((2, 3)))


class TestOtherModels:
    def test_a_generator_and_a_few_shot_model_are_sent_where_they_belong(self, tmp_path: Path) -> None:
        gan, few = GanConfig(latent=4), ProtonetConfig(kind="protonet", network="wavelets")
        networks = {
            "sample": (gan, build_generator(gan, (1, 8, 8), 3, seed=0)),
            "adapt": (few, build_few_shot_model(few, (1, 16, 16), seed=0)),
        }
        for command, (config, network) in networks.items():
            path = tmp_path / f"{command}.safetensors"
            path.write_bytes(model_file(config, network.shape, 3, network))  # type: ignore[arg-type]
            with pytest.raises(ConfigError, match=f"`siloseal {command}`"):
                name_records(path, npz(tmp_path, images=pixels(2, 8, 8)))
            with pytest.raises(ConfigError, match=f"siloseal.{command}"):
                siloseal.predict(network, np.zeros((2, 1, 8, 8)))

    def test_what_silos_share_of_a_model_is_not_used_as_a_whole_one(self, tmp_path: Path) -> None:
        personal = ClassifierConfig(kind="classifier", model="logistic", local=("1.bias",))
        network = build_network(personal, (1, 8, 8), 3, seed=1)
        path = tmp_path / "global.safetensors"
        path.write_bytes(shared_model_file(personal, (1, 8, 8), 3, network))
        with pytest.raises(ConfigError, match=r"learner\.local"):
            name_records(path, npz(tmp_path, images=pixels(2, 8, 8)))
        path.write_bytes(model_file(personal, (1, 8, 8), 3, network))
        assert len(name_records(path, npz(tmp_path, images=pixels(2, 8, 8))).predicted.labels) == 2

    def test_too_few_names_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="2 names"):
            name_records(model_in(tmp_path), npz(tmp_path, images=pixels(2, 8, 8)), ("a", "b"))


class TestTheTable:
    def test_has_a_column_for_each_class_and_what_a_record_is(self, tmp_path: Path) -> None:
        source = npz(tmp_path, images=pixels(2, 8, 8), labels=np.array([2, 0]))
        header, rows = table_of(name_records(model_in(tmp_path), source, ("a", "b", "c")))
        wanted = ["row", "predicted", "name", "probability"]
        wanted += ["probability of a", "probability of b", "probability of c", "actual", "actual name"]
        assert header == wanted
        first = dict(zip(header, rows[0], strict=True))
        assert (first["row"], first["actual"], first["actual name"]) == ("0", "2", "c")
        assert first["probability"] == first[f"probability of {first['name']}"]
        assert sum(float(first[f"probability of {name}"]) for name in "abc") == pytest.approx(1, abs=1e-5)

    def test_a_place_that_cannot_be_written_is_said(self, tmp_path: Path) -> None:
        named = name_records(model_in(tmp_path), npz(tmp_path, images=pixels(2, 8, 8)))
        with pytest.raises(ConfigError, match=r"predictions\.csv"):
            write_table(tmp_path / "nowhere" / "predictions.csv", named)


def test_the_command_prints_json_and_writes_every_prediction(tmp_path: Path) -> None:
    model, out = model_in(tmp_path), tmp_path / "predictions.csv"
    source = npz(tmp_path, images=pixels(30, 8, 8), labels=np.arange(30) % 3)
    command = [sys.executable, "-m", "siloseal", "predict", "--model", model, "--data", source, "--out", out]
    document = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["predicted"]) for row in rows] == [entry["predicted"] for entry in document["predictions"]]
    right = sum(entry["predicted"] == entry["actual"] for entry in document["predictions"])
    assert document["measures"]["accuracy"] == pytest.approx(right / 30)
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"{right / 30:.3f}" in shown
    assert shown.endswith(f"{out}\n")
