"""DICOM files, written as a scanner would: units, window, depth, and nothing of the patient."""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import DicomFolders
from siloseal.silo.data.loading import load

if not os.environ.get("CI"):  # continuous integration must have it; a machine without it skips these tests
    pytest.importorskip("pydicom")
pydicom, uid = importlib.import_module("pydicom"), importlib.import_module("pydicom.uid")

PATIENT = "SECRET^PATIENT"
SLOPE, INTERCEPT = 1.0, -1024.0


def write(path: Path, stored: np.ndarray, *, syntax: str = uid.ExplicitVRLittleEndian, **tags: Any) -> None:
    """A file with a patient's name. Values are stored as Hounsfield units + 1024 where nothing else is said."""
    path.parent.mkdir(parents=True, exist_ok=True)
    meta = pydicom.dataset.FileMetaDataset()
    meta.TransferSyntaxUID = syntax
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = uid.CTImageStorage, uid.generate_uid()
    file = pydicom.FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    file.PatientName, file.PatientID, file.SOPClassUID = PATIENT, PATIENT, uid.CTImageStorage
    file.Rows, file.Columns = stored.shape[-2:]
    file.BitsAllocated = file.BitsStored = 8 * stored.itemsize
    file.HighBit, file.PixelRepresentation = file.BitsStored - 1, int(stored.dtype.kind == "i")
    file.SamplesPerPixel, file.PhotometricInterpretation = 1, "MONOCHROME2"
    file.RescaleSlope, file.RescaleIntercept = SLOPE, INTERCEPT
    file.PixelData = stored.tobytes()
    for name, value in tags.items():
        setattr(file, name, value)
    file.save_as(path, enforce_file_format=True)


def source(root: Path, **settings: Any) -> DicomFolders:
    window = {"centre": 40, "width": 400}
    return DicomFolders.model_validate({"kind": "dicom", "path": root, "side": 4, "window": window, **settings})


def grey_of(root: Path, hounsfield: float, **tags: Any) -> float:
    """The grey that images of one value become."""
    stored = np.full((4, 4), hounsfield - INTERCEPT, dtype=np.uint16)
    for number in range(2):
        write(root / "normal" / f"{number}.dcm", stored, **tags)
    train, _ = load(source(root, held_out=0.5))
    assert train.inputs.unique().numel() == 1
    return train.inputs.unique().item()


def test_the_window_is_in_the_modalitys_units(tmp_path: Path) -> None:
    greys = [grey_of(tmp_path, hounsfield) for hounsfield in (-1000, -160, 40, 140, 240, 2000)]
    assert greys == pytest.approx([0.0, 0.0, 0.5, 0.75, 1.0, 1.0])


def test_signed_values_and_other_slopes_are_read(tmp_path: Path) -> None:
    stored = np.full((4, 4), -60, dtype=np.int16)
    for number in range(2):
        write(tmp_path / "normal" / f"{number}.dcm", stored, RescaleSlope=0.5, RescaleIntercept=20.0)
    train, _ = load(source(tmp_path, held_out=0.5))
    assert train.inputs.unique().item() == pytest.approx((-10 + 160) / 400)


def test_a_file_without_a_rescale_holds_units_already(tmp_path: Path) -> None:
    write(tmp_path / "normal" / "0.dcm", np.full((4, 4), 40, dtype=np.uint16))
    write(tmp_path / "normal" / "1.dcm", np.full((4, 4), 40, dtype=np.uint16))
    for number in range(2):
        file = pydicom.dcmread(tmp_path / "normal" / f"{number}.dcm")
        del file.RescaleSlope, file.RescaleIntercept
        file.save_as(tmp_path / "normal" / f"{number}.dcm")
    train, _ = load(source(tmp_path, held_out=0.5))
    assert train.inputs.unique().item() == pytest.approx(0.5)


def test_sixteen_bits_keep_their_depth(tmp_path: Path) -> None:
    write(tmp_path / "normal" / "0.dcm", np.arange(4096, dtype=np.uint16).reshape(64, 64))
    write(tmp_path / "normal" / "1.dcm", np.arange(4096, dtype=np.uint16).reshape(64, 64))
    wide = {"centre": 4095 / 2 + INTERCEPT, "width": 4095}
    train, _ = load(source(tmp_path, side=64, held_out=0.5, window=wide))
    assert train.inputs.unique().numel() == 4096
    assert torch.equal(train.inputs.flatten().argsort(), torch.arange(4096))


def test_monochrome1_is_inverted(tmp_path: Path) -> None:
    assert grey_of(tmp_path, 140, PhotometricInterpretation="MONOCHROME1") == pytest.approx(0.25)


def test_classes_are_the_folders_in_the_declared_order(tmp_path: Path) -> None:
    for name in ("pneumonia", "normal"):
        for number in range(4):
            write(tmp_path / name / f"{number}.dcm", np.zeros((4, 4), dtype=np.uint16))
    train, held_out = load(source(tmp_path, class_names=["pneumonia", "normal", "other"], held_out=0.5))
    assert train.classes == 3
    assert train.labels.bincount().tolist() == held_out.labels.bincount().tolist() == [2, 2]
    assert train.shape == (1, 4, 4)


@pytest.mark.parametrize(
    ("tags", "stored"),
    [
        ({"NumberOfFrames": 2}, np.zeros((2, 4, 4), np.uint16)),
        ({}, np.zeros((2, 4, 4), np.uint16)),
        (
            {"PhotometricInterpretation": "RGB", "SamplesPerPixel": 3, "PlanarConfiguration": 0},
            np.zeros((4, 4), np.uint8),
        ),
        ({"PhotometricInterpretation": "PALETTE COLOR"}, np.zeros((4, 4), np.uint8)),
        ({"PixelData": b"\0\0"}, np.zeros((4, 4), np.uint16)),
    ],
)
def test_what_is_no_single_grey_image_is_refused_and_no_tag_is_quoted(
    tmp_path: Path, tags: dict[str, Any], stored: np.ndarray, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "normal" / "0.dcm", stored, **tags)
    with pytest.raises(DataError) as refused:
        load(source(tmp_path))
    assert "0.dcm" in str(refused.value)
    said = capsys.readouterr()
    assert PATIENT not in str(refused.value) + said.out + said.err


def test_a_compressed_file_without_a_decoder_is_refused_with_what_to_do(tmp_path: Path) -> None:
    frames = pydicom.encaps.encapsulate([b"\xff\xd8 no image \xff\xd9"])
    write(tmp_path / "normal" / "0.dcm", np.zeros((4, 4), np.uint16), syntax=uid.JPEGLSLossless, PixelData=frames)
    with pytest.raises(DataError) as refused:
        load(source(tmp_path))
    assert "gdcmconv" in str(refused.value)
    assert PATIENT not in str(refused.value)


def test_a_run_length_encoded_file_is_decoded(tmp_path: Path) -> None:
    write(tmp_path / "normal" / "0.dcm", np.full((4, 4), 40 - INTERCEPT, np.uint16))
    file = pydicom.dcmread(tmp_path / "normal" / "0.dcm")
    file.compress(uid.RLELossless)
    for number in range(2):
        file.save_as(tmp_path / "normal" / f"{number}.dcm")
    train, _ = load(source(tmp_path, held_out=0.5))
    assert train.inputs.unique().item() == pytest.approx(0.5)


@pytest.mark.parametrize("content", [b"", b"no DICOM", b"\0" * 128 + b"DICM" + b"\xff" * 40])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    write(tmp_path / "normal" / "0.dcm", np.zeros((4, 4), np.uint16))
    (tmp_path / "normal" / "1.dcm").write_bytes(content)
    with pytest.raises(DataError) as refused:
        load(source(tmp_path))
    assert "1.dcm" in str(refused.value)


def test_what_the_library_warns_of_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings may quote tags. Here they are about pixels that are too many, and would be errors in this test."""
    padded = np.zeros((4, 4), np.uint16).tobytes() + bytes(6)
    assert grey_of(tmp_path, -1024, PixelData=padded) == 0.0
    said = capsys.readouterr()
    assert said.out + said.err == ""


def test_other_files_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "normal" / "0.dcm", np.zeros((4, 4), np.uint16))
    (tmp_path / "normal" / "notes.txt").write_text("SECRET")
    with pytest.raises(DataError):
        load(source(tmp_path))


def test_without_the_extra_the_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "normal" / "0.dcm", np.zeros((4, 4), np.uint16))
    monkeypatch.setitem(sys.modules, "pydicom", None)
    with pytest.raises(DataError) as refused:
        load(source(tmp_path))
    assert "pip install 'siloseal[dicom]'" in str(refused.value)
