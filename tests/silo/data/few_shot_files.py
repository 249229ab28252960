"""Small few-shot data sets in every form in which they are passed on."""

import os
import pickle
import struct
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SPLITS = {"train": ("n01", "n02", "n03"), "val": ("n04",), "test": ("n05", "n06")}
PICTURES = 4


def picture(seed: int, side: int = 12) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, size=(side, side, 3), dtype=np.uint8)


def in_tables(folder: Path) -> Path:
    """images/ and a table for each split, in JPEG."""
    (folder / "images").mkdir(parents=True)
    for split, names in SPLITS.items():
        lines = ["filename,label"]
        for name in names:
            for number in range(PICTURES):
                filename = f"{name}{number:08}.jpg"
                Image.fromarray(picture(hash_of(name, number))).save(folder / "images" / filename)
                lines.append(f"{filename},{name}")
        (folder / f"{split}.csv").write_text("\n".join(lines) + "\n")
    return folder


def in_folders(folder: Path) -> Path:
    for split, names in SPLITS.items():
        for name in names:
            home = folder / split / name
            home.mkdir(parents=True)
            for number in range(PICTURES):
                Image.fromarray(picture(hash_of(name, number))).save(home / f"{number}.png")
    return folder


def in_pickles(folder: Path, protocol: int = 5) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        (folder / f"mini-imagenet-cache-{split}.pkl").write_bytes(pickle.dumps(content_of(split), protocol=protocol))
    return folder


def content_of(split: str) -> dict[str, Any]:
    """The two entries of a split's pickle, the pictures of the classes interleaved."""
    names = SPLITS[split]
    order = [(name, number) for number in range(PICTURES) for name in names]
    images = np.stack([picture(hash_of(name, number)) for name, number in order])
    return {
        "image_data": images,
        "class_dict": {name: list(range(i, len(order), len(names))) for i, name in enumerate(names)},
    }


def hash_of(name: str, number: int) -> int:
    return int(name[1:]) * 100 + number


def python_2_pickle(content: dict[str, Any]) -> bytes:
    """What Python 2's cPickle writes in protocol 2: bytes and texts are both `str`, places are counted from 1."""
    places = 0

    def put(instructions: bytes) -> bytes:
        nonlocal places
        places += 1
        return instructions + b"q" + bytes([places])

    def text(value: str) -> bytes:
        return put(b"U" + bytes([len(value)]) + value.encode())

    def number(value: int) -> bytes:
        return b"J" + struct.pack("<i", value)

    images: NDArray[np.uint8] = content["image_data"]
    raw = images.tobytes()
    written = b"\x80\x02" + put(b"}") + b"(" + text("image_data")
    array = put(b"cnumpy.core.multiarray\n_reconstruct\n") + put(b"cnumpy\nndarray\n")
    array += put(b"K\x00\x85") + text("b") + put(b"\x87") + put(b"R")
    array += b"(K\x01" + put(b"(" + b"".join(number(size) for size in images.shape) + b"t")
    array += put(b"cnumpy\ndtype\n") + text("u1") + b"K\x00K\x01" + put(b"\x87") + put(b"R")
    array += b"(K\x03" + text("|") + b"NNN" + number(-1) + number(-1) + b"K\x00" + put(b"t") + b"b\x89"
    array += put(b"T" + struct.pack("<i", len(raw)) + raw) + put(b"t") + b"b"
    classes = text("class_dict") + put(b"}") + b"("
    for name, members in content["class_dict"].items():
        classes += text(name) + put(b"]") + b"(" + b"".join(number(index) for index in members) + b"e"
    return written + array + classes + b"uu."


OMNIGLOT = {
    "images_background": {"Greek": 2, "Latin": 3},
    "images_background_small1": {"Greek": 2, "Korean": 1},
    "images_evaluation": {"Tibetan": 2},
}
DRAWINGS = 3


def drawing(alphabet: str, character: int, number: int) -> bytes:
    """A PNG of one bit a pixel: white paper, a black block of ink whose place tells the drawing."""
    canvas = np.full((21, 21), 255, dtype=np.uint8)
    canvas[character * 4 : character * 4 + 5, number * 5 + len(alphabet) % 3 : number * 5 + 4] = 0
    buffer = BytesIO()
    Image.fromarray(canvas).convert("1").save(buffer, "PNG")
    return buffer.getvalue()


def omniglot_entries(collection: str) -> dict[str, bytes]:
    return {
        f"{collection}/{alphabet}/character{character:02}/{len(alphabet)}{character:02}_{number:02}.png": drawing(
            alphabet, character, number
        )
        for alphabet, characters in OMNIGLOT[collection].items()
        for character in range(characters)
        for number in range(DRAWINGS)
    }


def omniglot_folders(folder: Path, *collections: str) -> Path:
    for collection in collections:
        for name, content in omniglot_entries(collection).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    return folder


def omniglot_zips(folder: Path, *collections: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for collection in collections:
        write_zip(folder / f"{collection}.zip", {f"{collection}/": b"", **omniglot_entries(collection)})
    return folder


def write_zip(path: Path, entries: dict[str, bytes], packed: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", packed) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def touch_later(path: Path) -> None:
    """As an edit would: the time of change moves on, whatever the clock's resolution."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))
