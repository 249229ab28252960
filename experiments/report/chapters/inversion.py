"""Gradient inversion: what an attacker rebuilds from what left a silo, under each protection."""

import textwrap
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siloseal.experiments.comparison.rows import Label, Measured
from siloseal.experiments.report.averages import at, choices, numbers
from siloseal.experiments.report.chapters.draft import Album, Draft, Part
from siloseal.experiments.report.chapters.words import missing, text_of
from siloseal.federation.errors import DataError
from siloseal.report import charts
from siloseal.report.document import Figure, Table
from siloseal.report.intervals import Mean, averaged, bands, mean

MOST_IMAGES = 8
GAP = 3  # pixels between images
MARGIN = 1.0
"""Margin in dB. If the interval of its gain ends below this, an attack is no closer than a guess."""
LEAD = (
    "An attacker who sees an upload searches for the image whose training would have caused it. The peak "
    "signal-to-noise ratio (PSNR) says how near it comes: from 20 dB on a digit is seen at once. The guess beside it "
    "is the mean of public digits of the image's class, which takes no attack."
)
NOTES = (
    "PSNR measures likeness, not knowledge: an inverted or a noisy image may be easily read and lie below the guess. "
    f"“No closer than a guess” says that the 95 % interval of the attack above the guess ends below {MARGIN:g} dB; "
    "where it neither does nor begins above zero, nothing is decided.",
    "Of a sum, the closest of all images that were found is shown: whoever picks it knows the original, and no guess "
    "is allowed that.",
    "An upload is decoded as its scheme would if it hid nothing. One attack failed or succeeded here: a failure is "
    "evidence, not a proof. The proofs are the epsilon and the sum.",
)

CLOSER, NO_CLOSER, UNDECIDED = "closer than a guess", "no closer than a guess", "not decided"

FolderOf = Callable[[str], Path]
Image = NDArray[np.float64]
Pairs = dict[tuple[Label, int], tuple[Image, Image]]
"""Original and rebuilt images, by protection and seed."""


def draft(cells: Sequence[Measured], album: Album, folder_of: FolderOf | None) -> Draft:
    """Draft the chapter: the strip of images, and the numbers beside it."""
    known = [cell for cell in cells if "protection" in cell.labels]
    pairs = {} if folder_of is None else images(known, folder_of)
    parts: list[Part] = [
        strip(known, pairs, album) if pairs else missing("images", "cells with label `protection` and `images.npz`")
    ]
    parts.append(table(known) if numbers(known, "psnr") else missing("the table", "rows `psnr`"))
    return Draft("Rebuilding images from uploads", LEAD, ("protection",), [*parts, *NOTES])


def images(cells: Sequence[Measured], folder_of: FolderOf) -> Pairs:
    """Return original and rebuilt image by protection and seed, of the cells that kept them."""
    found: Pairs = {}
    for cell in cells:
        path = folder_of(cell.cell) / "images.npz"
        if path.is_file():
            found[cell.labels["protection"], cell.seed] = read_pair(path)
    return found


def read_pair(path: Path) -> tuple[Image, Image]:
    """Return both images of a cell; `DataError` where the file holds something else."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            original, rebuilt = (np.asarray(arrays[name], dtype=np.float64) for name in ("original", "rebuilt"))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} holds no arrays `original` and `rebuilt` ({error}); measure the cell again") from error
    if original.ndim != 2 or rebuilt.shape != original.shape:
        raise DataError(
            f"{path} holds images of shapes {original.shape} and {rebuilt.shape}, expected two equal grey ones; "
            "measure the cell again"
        )
    return original, rebuilt


def strip(cells: Sequence[Measured], pairs: Pairs, album: Album) -> Figure:
    """Draw the originals on top, then a row for each protection."""
    protections = [one for one in choices(cells, "protection") if any(kept == one for kept, _ in pairs)]
    seeds = sorted({seed for _, seed in pairs})[:MOST_IMAGES]
    originals = [next(pair[0] for (_, kept), pair in pairs.items() if kept == seed) for seed in seeds]
    rebuilt = [[pairs[one, seed][1] if (one, seed) in pairs else None for seed in seeds] for one in protections]
    height, width = (max(image.shape[side] for image in originals) for side in (0, 1))
    picture, (axes,) = charts.panels(1, height=1.1 + 4.4 * (1 + len(protections)) / max(len(seeds), 5))
    axes.imshow(mosaic([originals, *rebuilt], height, width), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    names = ["original", *(row_name(cells, one) for one in protections)]
    axes.set_yticks([(height + GAP) * n + height / 2 for n in range(len(names))], names)
    axes.set_xticks([(width + GAP) * n + width / 2 for n in range(len(seeds))], [str(n + 1) for n in range(len(seeds))])
    axes.set_xlabel("image (number)")
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    caption = "Each column is one image; below it, what the attack rebuilds. " + bands(psnr(cells).values(), "images")
    return album.keep(picture, "images", message=message(cells), caption=caption)


def row_name(cells: Sequence[Measured], protection: Label) -> str:
    """Return the name of a row with its number, at the side of the images."""
    found = mean(numbers(at(cells, protection=protection), "psnr"))
    name = textwrap.fill(text_of(protection), 24)
    return f"{name}\nPSNR {found.value:.1f} dB" if found else name


def mosaic(rows: Sequence[Sequence[Image | None]], height: int, width: int) -> Image:
    """Return all images in one, with white between them and where one is missing."""
    whole = np.ones(((height + GAP) * len(rows), (width + GAP) * len(rows[0])))
    for n, row in enumerate(rows):
        for m, image in enumerate(row):
            if image is not None:
                own_height, own_width = image.shape
                whole[(height + GAP) * n :, (width + GAP) * m :][:own_height, :own_width] = image
    return whole[:-GAP, :-GAP]


def psnr(cells: Sequence[Measured]) -> dict[str, Mean]:
    """Return the PSNR over images, by protection."""
    means = {text_of(one): mean(numbers(at(cells, protection=one), "psnr")) for one in choices(cells, "protection")}
    return {name: one for name, one in means.items() if one}


def gain(cells: Sequence[Measured], protection: Label) -> Mean | None:
    """Return how much better than a guess the attack is, image by image."""
    pairs = [(cell.find("psnr"), cell.find("baseline_psnr")) for cell in at(cells, protection=protection)]
    return mean([attack[0].value - guess[0].value for attack, guess in pairs if attack and guess])


def message(cells: Sequence[Measured]) -> str:
    """Say how well the attack does at best, what leaves it no closer than a guess, and where nobody can say."""
    means = psnr(cells)
    if not means:
        return "What the attack rebuilds"
    worst = max(means, key=lambda name: means[name].value)
    said = [f"Images are rebuilt best under “{worst}” (PSNR {means[worst].value:.1f} dB)"]
    gains = {text_of(one): found for one in choices(cells, "protection") if (found := gain(cells, one))}
    verdicts = {name: verdict(one) for name, one in gains.items()}
    for words in (NO_CLOSER, UNDECIDED):
        if names := [name for name, one in verdicts.items() if one == words]:
            said.append(f"{words} under {named(names)}")
    return "; ".join(said)


def verdict(above: Mean) -> str:
    """Return what the interval of the attack above the guess says. One image has none, and says nothing."""
    if above.half_width is None:
        return UNDECIDED
    if above.high <= MARGIN:
        return NO_CLOSER
    return CLOSER if above.low > 0 else UNDECIDED


def named(protections: Sequence[str]) -> str:
    """Return the names in quotes, because they may be anything."""
    return ", ".join(f"“{one}”" for one in protections)


def table(cells: Sequence[Measured]) -> Table:
    """Return the table of numbers beside the strip."""
    rows = []
    for one in choices(cells, "protection"):
        there = at(cells, protection=one)
        attack, guess, better = mean(numbers(there, "psnr")), mean(numbers(there, "baseline_psnr")), gain(cells, one)
        texts = (found.text(1) if found else "not measured" for found in (attack, guess, better))
        rows.append((text_of(one), *texts, verdict(better) if better else "not measured", str(len(there))))
    caption = averaged("PSNR in dB", psnr(cells).values(), "images")
    columns = ("protection", "attack (dB)", "guess (dB)", "attack above guess (dB)", "verdict", "images")
    return Table(caption, columns, tuple(rows), (1, 2, 3, 5))
