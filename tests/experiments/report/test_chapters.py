"""Every chapter: pictures with labelled axes, messages from the data, and no crash where something is missing."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from PIL import Image

from siloseal.experiments.comparison.rows import Label, Measured, Row
from siloseal.experiments.report.chapter import ChapterKind
from siloseal.experiments.report.chapters import draw
from siloseal.federation.errors import DataError
from siloseal.federation.sums.one_key.one_key_sum import PaillierSum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.report.document import Chapter
from siloseal.report.intervals import Mean, bands

CellsOf = Callable[[ChapterKind], list[Measured]]
FolderOf = Callable[[str], Path]
KINDS: tuple[ChapterKind, ...] = get_args(ChapterKind)
DPI = 50

# What axes must say, in each chapter's pictures, in order.
AXES: dict[ChapterKind, list[tuple[str, ...]]] = {
    "overview": [("epsilon", "accuracy, final, cnn (share of 1)", "start public")],
    "optimizers": [("private steps of each silo (count)", "accuracy (share of test images)", "DP-AdamBC")],
    "sums": [
        ("share of a silo's bytes (%)", "MB of a silo", "Paillier"),
        ("silos (count)", "(bytes a parameter)"),
        ("silos (count)", "a silo's work (s)", "the aggregator's work (s)"),
        ("silos (count)", "peak memory beyond the start (MB)"),
    ],
    "noise": [
        ("epsilon (privacy loss; smaller protects more)", "accuracy (share of test images)"),
        ("epsilon (privacy loss; smaller protects more)", "error of the sum (times the central Gaussian's)"),
    ],
    "traffic": [
        ("epochs (rounds)", "traffic of all silos until then (MB)", "extended by formula", "measured (filled markers)"),
        ("epochs (rounds)", "traffic of all silos until then (GB)", "extended by formula"),
        ("traffic (times ours, at the same number of epochs)", "reported in slides,", "1,090 GB against 90 GB"),
        ("bytes of all silos (MB)", "accuracy (share of test images)"),
    ],
    "silos": [("silos (count)", "accuracy (share of test images)", "label skew", "mean silo alone", "pooled")],
    "starts": [("stage of the job", "accuracy (share of test images)", "kernel_mean", "average")],
    "inversion": [("image (number)", "original", "PSNR 27.4 dB")],
    "audit": [("epsilon of the ledger", "lower bound on epsilon from the audit", "above the ledger")],
    "distributed-dp": [
        ("epsilon (privacy loss; smaller protects more)", "bits of an entry (count)", "accuracy (share of test images)",
         "DDG, epsilon\u00a03", "no privacy, no clip"),
    ],
    "fedavg": [("rounds (count)", "accuracy (share of test images)", "by class", "C\u00a00.1, E\u00a05, B all")],
    "cheating": [("secure sum", "learnt", "refused", "harmless", "reads uploads", "the aggregator and one silo")],
}  # fmt: skip


def text_of(svg: bytes) -> list[str]:
    """The words of a picture; they are in it as text, so that they can be found and read aloud."""
    source = svg.decode()
    for entity, letter in (("&gt;", ">"), ("&lt;", "<"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&")):
        source = source.replace(entity, letter)
    return re.findall(r"<(?:text|tspan)[^>]*>([^<]+)</", source)


def relabelled(
    cells: list[Measured], measure: str, change: Callable[[float], float], **labels: Label
) -> list[Measured]:
    """The cells, with one measure of some of them changed."""

    def changed(one: Measured) -> Measured:
        if any(one.labels.get(axis) != label for axis, label in labels.items()):
            return one
        rows = [
            row.model_copy(update={"value": change(row.value)}) if row.measure == measure else row for row in one.rows
        ]
        return one.model_copy(update={"rows": tuple(rows)})

    return [changed(one) for one in cells]


@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_has_its_message_and_labelled_axes(
    chapters: dict[ChapterKind, Chapter], kind: ChapterKind
) -> None:
    chapter = chapters[kind]
    assert len(chapter.figures) == len(AXES[kind])
    for figure, expected in zip(chapter.figures, AXES[kind], strict=True):
        assert figure.png is not None
        assert figure.png.with_suffix(".svg").read_bytes() == figure.svg
        with Image.open(figure.png) as png:
            assert png.width >= 6.4 * DPI
            assert np.ptp(np.asarray(png.convert("L"))) > 100  # ink on paper
        found = text_of(figure.svg)
        for words in expected:
            assert any(words in one for one in found), (words, found)
        drawn = " ".join(found).replace("\u00a0", " ")
        assert all(word in drawn for word in figure.message.split())
        assert figure.caption
    assert chapter.title
    assert chapter.lead
    assert chapter.notes
    assert all(len(row) == len(table.columns) for table in chapter.tables for row in table.rows)


@pytest.mark.parametrize(
    ("kind", "name", "measure", "change", "labels"),
    [
        ("overview", "overview", "accuracy", lambda value: 1 - value, {}),
        ("optimizers", "convergence", "accuracy", lambda value: value / 2, {"optimizer": "DP-Adam"}),
        ("sums", "upload", "sent_bytes", lambda value: 9 * value, {"sum": "plain"}),
        ("noise", "error", "rmse", lambda value: 90 * value, {"noise": "PBM"}),
        ("traffic", "growth-small", "predicted_bytes", lambda value: value / 100, {"scheme": "CKKS every round"}),
        ("silos", "federating", "accuracy", lambda value: value / 2, {"data": "IID", "silos": 100}),
        ("starts", "starts", "accuracy", lambda value: value / 2, {"start": "public"}),
        ("inversion", "images", "psnr", lambda value: value + 20, {"protection": "secure sum"}),
        ("audit", "bounds", "lower_bound", lambda value: value + 9, {"flaw": "none"}),
        ("cheating", "matrix", "learnt", lambda value: 1.0, {"sum": "SecAgg"}),
        ("distributed-dp", "accuracy", "accuracy", lambda value: value / 2, {"noise": "DDG"}),
        ("fedavg", "rounds", "rounds_to_target", lambda value: 10 * value, {"data": "IID"}),
    ],
)  # fmt: skip
def test_a_message_follows_the_data(
    chapters: dict[ChapterKind, Chapter], cells_of: CellsOf, folder_of: FolderOf, tmp_path: Path,
    kind: ChapterKind, name: str, measure: str, change: Callable[[float], float], labels: dict[str, Label],
) -> None:  # fmt: skip
    of_it = [cell for cell in cells_of(kind) if cell.find(measure) and (kind != "sums" or "silos" in cell.labels)]
    again = draw(kind, kind, relabelled(of_it, measure, change, **labels), tmp_path, folder_of=folder_of, dpi=20)
    before, after = ({figure.name: figure.message for figure in one.figures} for one in (chapters[kind], again))
    assert before[f"{kind}-{name}"] != after[f"{kind}-{name}"]


def test_messages_say_what_was_measured(chapters: dict[ChapterKind, Chapter]) -> None:
    first = {kind: chapter.figures[0].message for kind, chapter in chapters.items()}
    assert first["cheating"] == (
        "Sums that yield to cheats: plain to 1, CKKS joint key to 1 (1 with a silo's help), CKKS one key to 4 (2 with a "
        "silo's help), Paillier to 4 (2 with a silo's help); ring, SecAgg, CKKS to none"
    )
    assert first["audit"] == (
        "None of 18 lower bounds breaks the ledger: the nearest is 0.51 under epsilon 1.00; planted flaws found: "
        "noise off in 16 of 16, noise halved in 0 of 16, sampling ignored in 2 of 2"
    )
    assert "CKKS every round 1.53 GB (dearer from epoch 2)" in first["traffic"]
    assert chapters["traffic"].figures[1].message.startswith("published prototype, 250 epochs: ")
    assert "11.7 times as much" in first["sums"]
    assert first["optimizers"].startswith("At sigma 5 ")  # the first two sigmas protect nobody


def test_sigmas_that_protect_nobody_say_so_over_their_panel(chapters: dict[ChapterKind, Chapter]) -> None:
    words = " ".join(text_of(chapters["optimizers"].figures[0].svg))
    assert words.count("no meaningful guarantee") == 2
    assert "(epsilon 2.1e7)" in words
    assert "epsilon 0.94 at delta 1e-5" in words


def test_sums_name_who_learns_what_and_what_a_dropout_did(chapters: dict[ChapterKind, Chapter]) -> None:
    knowledge = chapters["sums"].tables[-1]
    rows = {row[0]: row for row in knowledge.rows}
    assert rows["plain"][1] == PlainSum.exposure.aggregator_learns
    assert rows["Paillier"][2:4] == (PaillierSum.exposure.colluders, PaillierSum.exposure.assumes)
    assert rows["SecAgg"][4:] == ("the sum comes out", "the sum comes out")
    assert rows["ring"][4:] == ("no sum, an error", "no sum, an error")


@pytest.mark.parametrize("kind", KINDS)
def test_a_chapter_without_cells_says_so(tmp_path: Path, kind: ChapterKind) -> None:
    chapter = draw(kind, "mine", [], tmp_path, dpi=DPI)
    assert chapter.figures == ()
    assert chapter.tables == ()
    assert chapter.notes[0].startswith("No cell of this comparison is finished")
    assert any(note.startswith("Not drawn") for note in chapter.notes)
    assert chapter.title.endswith(": mine")


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_measures_may_be_missing(cells_of: CellsOf, tmp_path: Path, kind: ChapterKind, half: int) -> None:
    """Every second measure is taken from a chapter, then the others; it draws the rest, or says what is missing."""
    cells = cells_of(kind)[:6]
    kept = sorted({row.measure for cell in cells for row in cell.rows})[half::2]
    poorer = [
        cell.model_copy(update={"rows": tuple(row for row in cell.rows if row.measure in kept)}) for cell in cells
    ]
    chapter = draw(kind, kind, poorer, tmp_path, dpi=20)
    assert chapter.figures or any(note.startswith("Not drawn") for note in chapter.notes)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_that_a_chapter_does_not_know_leave_a_note(cells_of: CellsOf, tmp_path: Path, kind: ChapterKind) -> None:
    strange = [one.model_copy(update={"labels": {"flavour": "sweet"}}) for one in cells_of(kind)[:2]]
    chapter = draw(kind, kind, strange, tmp_path, dpi=20)
    assert chapter.figures or any(note.startswith("Not drawn") for note in chapter.notes)


def test_an_axis_that_a_chapter_does_not_show_is_averaged_and_said(cells_of: CellsOf, tmp_path: Path) -> None:
    cells = [one.model_copy(update={"labels": {**one.labels, "batch": one.seed}}) for one in cells_of("audit")]
    chapter = draw("audit", "audit", cells, tmp_path, dpi=20)
    assert "also varies batch" in chapter.notes[0]


def test_words_make_dots_and_one_seed_has_no_band(tmp_path: Path) -> None:
    rows = (Row(measure="seconds", value=3.0, unit="s"),)
    cells = [Measured(comparison="c", cell=name, labels={"machine": name}, rows=rows) for name in ("old", "new")]
    (figure,) = draw("overview", "mine", cells, tmp_path, dpi=20).figures
    assert any("seconds (s)" in text for text in text_of(figure.svg))
    assert bands([Mean(3.0, None, 1)]) in figure.caption


def test_a_damaged_image_file_is_named(cells_of: CellsOf, tmp_path: Path) -> None:
    one = cells_of("inversion")[0]
    (tmp_path / one.cell).mkdir()
    (tmp_path / one.cell / "images.npz").write_bytes(b"PK damaged")
    with pytest.raises(DataError, match=r"images\.npz .*`original` and `rebuilt`"):
        draw("inversion", "inversion", [one], tmp_path, folder_of=lambda digest: tmp_path / digest, dpi=20)


def test_the_same_cells_give_the_same_bytes(
    chapters: dict[ChapterKind, Chapter], cells_of: CellsOf, tmp_path: Path
) -> None:
    again = draw("audit", "audit", cells_of("audit"), tmp_path, dpi=DPI).figures[0]
    before = chapters["audit"].figures[0]
    assert again.svg == before.svg
    assert again.png is not None
    assert before.png is not None
    assert again.png.read_bytes() == before.png.read_bytes()
