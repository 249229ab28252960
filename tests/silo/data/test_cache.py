import stat
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from siloseal.federation.config.section import placed
from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import MiniImagenet, Omniglot
from siloseal.silo.data.cache import cached
from siloseal.silo.data.loading import load
from siloseal.silo.data.named_images import NamedImages

from .few_shot_files import (
    SPLITS,
    in_folders,
    in_pickles,
    in_tables,
    omniglot_folders,
    omniglot_zips,
    picture,
    touch_later,
)

Source = MiniImagenet | Omniglot
BOTH = ("images_background", "images_evaluation")
SOURCES: dict[str, Callable[[Path], Source]] = {
    "tables": lambda folder: MiniImagenet(folder=in_tables(folder), side=7),
    "folders": lambda folder: MiniImagenet(folder=in_folders(folder), side=7),
    "pickles": lambda folder: MiniImagenet(folder=in_pickles(folder), side=7),
    "drawings": lambda folder: Omniglot(folder=omniglot_folders(folder, *BOTH), side=9, rotations=True),
    "zips": lambda folder: Omniglot(folder=omniglot_zips(folder, *BOTH), side=9),
}


CHANGED = {
    "tables": "n02*.jpg",
    "folders": "train/n02/3.png",
    "pickles": "*-test.pkl",
    "drawings": "Tibetan/*/*.png",
    "zips": "images_evaluation.zip",
}


def with_cache(source: Source, folder: Path) -> Source:
    return source.model_copy(update={"cache": folder})


def same(one: Source, other: Source) -> bool:
    parts = zip(load(one), load(other), strict=True)
    return all(torch.equal(a.inputs, b.inputs) and torch.equal(a.labels, b.labels) for a, b in parts)


@pytest.mark.parametrize("name", SOURCES)
class TestEveryCachedSource:
    def test_cached_equals_uncached(self, name: str, tmp_path: Path) -> None:
        source = SOURCES[name](tmp_path / "data")
        keeping = with_cache(source, tmp_path / "cache")
        assert same(source, keeping)  # which fills the cache
        assert len(list((tmp_path / "cache").iterdir())) == 2
        assert same(source, keeping)  # which reads it

    def test_a_second_load_decodes_nothing(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        source = with_cache(SOURCES[name](tmp_path / "data"), tmp_path / "cache")
        load(source)
        for module, function in (("named_images", "decode"), ("mini_imagenet_pickle", "read_pickle")):
            monkeypatch.setattr(f"siloseal.silo.data.{module}.{function}", None)
        load(source)

    def test_another_side_is_another_cache(self, name: str, tmp_path: Path) -> None:
        source = with_cache(SOURCES[name](tmp_path / "data"), tmp_path / "cache")
        load(source)
        assert load(source.model_copy(update={"side": 5}))[0].shape[1:] == (5, 5)
        assert len(list((tmp_path / "cache").iterdir())) == 4

    def test_any_changed_file_makes_a_new_cache(self, name: str, tmp_path: Path) -> None:
        source = with_cache(SOURCES[name](tmp_path / "data"), tmp_path / "cache")
        load(source)
        touch_later(next(path for path in sorted((tmp_path / "data").rglob("*")) if path.match(CHANGED[name])))
        load(source)
        assert len(list((tmp_path / "cache").iterdir())) == 3  # of one split of two


@pytest.fixture
def source(tmp_path: Path) -> Source:
    filled = with_cache(SOURCES["folders"](tmp_path / "data"), tmp_path / "cache")
    load(filled)
    return filled


def entries(source: Source) -> list[Path]:
    return sorted((source.cache or Path()).iterdir())


def test_a_changed_picture_is_seen(source: Source, tmp_path: Path) -> None:
    before = load(source)[0].inputs
    path = tmp_path / "data" / "train" / "n02" / "1.png"
    Image.fromarray(picture(999)).save(path)
    touch_later(path)
    after = load(source)[0].inputs
    assert (before != after).any(dim=(1, 2, 3)).nonzero().flatten().tolist() == [5]


def test_only_the_owner_may_read_it(source: Source) -> None:
    assert {stat.S_IMODE(path.stat().st_mode) for path in entries(source)} == {0o600}
    assert stat.S_IMODE((source.cache or Path()).stat().st_mode) == 0o700


def flip(content: bytes) -> bytes:
    place = content.index(b"pixels.npy") + 600
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        flip,
        lambda _: b"text",
    ],
    ids=["empty", "a byte short", "half", "one bit", "text"],
)
def test_a_damaged_cache_is_made_anew(source: Source, damage: Callable[[bytes], bytes]) -> None:
    sound = {path: path.read_bytes() for path in entries(source)}
    expected = load(source.model_copy(update={"cache": None}))
    for path, content in sound.items():
        path.write_bytes(damage(content))
    for one, other in zip(load(source), expected, strict=True):
        assert torch.equal(one.inputs, other.inputs)
    assert {path: path.read_bytes() for path in entries(source)} == sound


def written_by(*, pixels: np.ndarray, labels: np.ndarray, names: np.ndarray) -> Callable[[Path], None]:
    return lambda path: np.savez(path.open("wb"), pixels=pixels, labels=labels, names=names, digest=np.array(path.stem))


PIXELS, LABELS, NAMES = np.zeros((2, 3, 7, 7), np.uint8), np.array([0, 1]), np.array(["a", "b"])


@pytest.mark.parametrize(
    "write",
    [
        written_by(pixels=PIXELS.astype(np.float32), labels=LABELS, names=NAMES),
        written_by(pixels=PIXELS[0], labels=LABELS, names=NAMES),
        written_by(pixels=PIXELS, labels=LABELS[:1], names=NAMES),
        written_by(pixels=PIXELS, labels=LABELS + 1, names=NAMES),
        written_by(pixels=PIXELS, labels=LABELS, names=np.array(["a", "a"])),
        written_by(pixels=PIXELS, labels=LABELS, names=np.array([{}, {}], dtype=object)),
        lambda path: np.save(path.open("wb"), PIXELS),
        lambda path: np.savez(path.open("wb"), pixels=PIXELS),
    ],
)
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_a_sound_archive_of_something_else_is_made_anew(source: Source, write: Callable[[Path], None]) -> None:
    expected = load(source.model_copy(update={"cache": None}))
    for path in entries(source):
        write(path)
    for one, other in zip(load(source), expected, strict=True):
        assert torch.equal(one.inputs, other.inputs)


def test_a_cache_under_another_name_is_not_trusted(source: Source) -> None:
    first, second = entries(source)
    first.write_bytes(second.read_bytes())
    assert same(source, source.model_copy(update={"cache": None}))


def test_a_cache_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(DataError, match=str(tmp_path / "cache")):
        load(with_cache(SOURCES["folders"](tmp_path / "data"), tmp_path / "cache"))


def test_whoever_comes_while_it_is_made_waits_and_reads(tmp_path: Path) -> None:
    waiting = list[Future[NamedImages]]()

    def make() -> NamedImages:
        waiting.append(pool.submit(cached, tmp_path, ["x"], lambda: pytest.fail("made twice")))
        with pytest.raises(TimeoutError):
            waiting[0].result(timeout=0.05)
        return NamedImages(PIXELS, LABELS, ("a", "b"))

    with ThreadPoolExecutor(1) as pool:
        cached(tmp_path, ["x"], make)
        assert waiting[0].result(timeout=10).names == ("a", "b")


def test_its_path_may_name_a_variable_and_is_taken_from_where_the_config_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = SOURCES["folders"](tmp_path / "data")
    assert placed(with_cache(source, Path("c")), tmp_path).cache == tmp_path / "c"
    assert placed(source, tmp_path).cache is None
    named = with_cache(source, Path("${CACHE_HOME}/c"))
    assert placed(named, tmp_path).cache == Path("${CACHE_HOME}/c")
    monkeypatch.setenv("CACHE_HOME", str(tmp_path))
    load(named)
    assert len(list((tmp_path / "c").iterdir())) == 2


def test_the_split_that_is_not_asked_for_is_not_read(tmp_path: Path) -> None:
    folder = in_pickles(tmp_path)
    (folder / "mini-imagenet-cache-val.pkl").write_bytes(b"")
    assert len(load(MiniImagenet(folder=folder, side=4))[1].label_set()) == len(SPLITS["test"])


def test_images_print_their_shape_and_no_pixel() -> None:
    assert repr(NamedImages(PIXELS, LABELS, ("a", "b"))) == "NamedImages(2 images of (3, 7, 7), 2 classes)"
