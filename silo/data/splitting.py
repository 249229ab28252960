"""The training part and the held-out part of a data set, and the examples of each that are kept."""

from torch.nn import functional

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.source import ImageSource, ReadSource, Source
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.pixels import resize
from siloseal.silo.data.stratify import class_split, stratified_split

Parts = tuple[Examples, Examples]
"""Training examples, and held-out ones."""

# Public and fixed: which examples are held out must not change between two runs that are compared, nor between the
# two phases of one job, or evaluation would see examples that were trained on.
SPLIT_SEED = 20_240_229


def split_examples(whole: Examples, fraction: float) -> Parts:
    """Hold out a fraction of the examples, stratified where each has a class."""
    count = round(fraction * len(whole))
    if not 0 < count < len(whole):
        raise DataError(
            f"holding out {fraction:g} of {len(whole)} examples leaves one part empty; "
            "add examples, or change held_out in the config"
        )
    held_out, train = stratified_split(whole.labels, count=count, seed=SPLIT_SEED)
    return whole.select(train), whole.select(held_out)


def split_classes(whole: Examples, fraction: float) -> Parts:
    """Hold out a fraction of the classes."""
    if not whole.classes or whole.labels.ndim != 1:
        raise DataError(
            "hold_out is classes, but the targets are measured, or several an example; hold out examples instead"
        )
    held_out, train = class_split(whole.labels, classes=whole.classes, fraction=fraction, seed=SPLIT_SEED)
    if len(held_out) == 0 or len(train) == 0:
        raise DataError(
            f"holding out {fraction:g} of {whole.classes} classes, of which {len(whole.label_set())} have examples, "
            "leaves one part empty; add classes, or change held_out in the config"
        )
    return whole.select(train), whole.select(held_out)


def finished(part: Examples, source: Source) -> Examples:
    """A part of the data, limited and resized as its source says."""
    if len(part) == 0:
        raise DataError("a split holds no examples, expected at least one in each; add examples to the source")
    if isinstance(source, ReadSource) and source.limit is not None and source.limit < len(part):
        kept, _ = stratified_split(part.labels, count=source.limit, seed=SPLIT_SEED)
        part = part.select(kept)
    if not isinstance(source, ImageSource) or source.side is None:
        return part
    inner = inner_side(source.side, source.margin)
    images = functional.pad(resize(part.inputs, inner), [source.margin] * 4)
    return Examples(images, part.labels, part.classes)


def inner_side(side: int, margin: int) -> int:
    """The side that a margin leaves."""
    if side - 2 * margin < 1:
        raise DataError(f"a margin of {margin} leaves nothing of a side of {side}; lower it")
    return side - 2 * margin
