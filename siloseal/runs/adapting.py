"""A released few-shot model at work on somebody's own task: a folder to learn from, and a folder to name."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from siloseal.federation.errors import ConfigError, DataError
from siloseal.federation.records.storage import write_atomically
from siloseal.models.meta.model import FewShotModel
from siloseal.models.model_files import read_few_shot_model
from siloseal.silo.data.pictures import Colour, Picture, decode, pictures_in, subfolders


@dataclass(frozen=True)
class Prediction:
    """What a few-shot model makes of one image.

    >>> first = siloseal.adapt("few-shot.safetensors", "support", "query")[0]
    >>> first.file, first.predicted, first.confidence > 0.5
    ('query/0.png', 'lying', True)
    """

    file: str
    predicted: str
    confidence: float
    """The model's share for this class. It says which images are doubtful, and is no calibrated probability."""
    actual: str | None
    """The name of the folder that the image lay in, where the images lie in folders."""


def adapt(model: nn.Module | Path, support: Path, query: Path, *, invert: bool = False) -> list[Prediction]:
    """Learn the classes of `support`, a folder of class folders, and name the images of `query`.

    These may lie in class folders of the same names, or in one folder. Nothing is trained that outlives the call, and
    nothing leaves this machine.
    """
    network = read_few_shot_model(model) if isinstance(model, Path) else model
    if not isinstance(network, FewShotModel):
        raise ConfigError(f"a {type(network).__name__} learns no tasks, expected a few-shot model; a generator draws")
    if query.resolve().is_relative_to(support.resolve()) or support.resolve().is_relative_to(query.resolve()):
        raise DataError(
            f"{query} and {support} are one inside the other: images to learn from would be asked for, or folders "
            "taken for classes; put the images to name elsewhere"
        )
    folders = subfolders(support)
    names = [folder.name for folder in folders]
    if len(names) < 2:
        raise DataError(f"{support} holds one class folder, {names[0]}; a task needs two or more to tell apart")
    examples = [(picture, label) for label, folder in enumerate(folders) for picture in pictures_in(folder)]
    asked = _asked(query, names)
    labels = torch.tensor([label for _, label in examples])
    with torch.no_grad():
        scores = network.classify(
            _images([picture for picture, _ in examples], network, invert=invert),
            labels,
            _images([picture for picture, _ in asked], network, invert=invert),
        )
    shares, found = scores.softmax(1).max(1)
    return [
        Prediction(picture.name, names[label], share, actual)
        for (picture, actual), label, share in zip(asked, found.tolist(), shares.tolist(), strict=True)
    ]


def accuracy(predictions: Sequence[Prediction]) -> float | None:
    """The share that was named rightly, where the right names are known."""
    known = [prediction.predicted == prediction.actual for prediction in predictions if prediction.actual is not None]
    return sum(known) / len(known) if known else None


def write_predictions(path: Path, predictions: Sequence[Prediction]) -> None:
    """Write the predictions as a CSV file."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["file", "predicted", "confidence", "actual"])
    writer.writerows([p.file, p.predicted, f"{p.confidence:.4f}", p.actual or ""] for p in predictions)
    try:
        write_atomically(path, text.getvalue().encode(errors="surrogateescape"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error}); choose another path") from error


def _asked(query: Path, names: list[str]) -> list[tuple[Picture, str | None]]:
    """The images to be named, with the names of their folders where they lie in some."""
    if not query.is_dir():
        raise DataError(f"{query} is not a folder, expected one with images, or with class folders; correct the path")
    entries = [entry for entry in query.iterdir() if not entry.name.startswith(".")]
    folders = [entry for entry in entries if entry.is_dir()]
    if not folders:
        return [(picture, None) for picture in pictures_in(query)]
    if loose := len(entries) - len(folders):
        raise DataError(f"{query} holds class folders and {loose} files beside them; move those into folders, or away")
    if strangers := sorted({folder.name for folder in folders} - set(names)):
        raise DataError(
            f"{query} holds the folders {strangers}, but the classes to learn are {names}; rename them, or put the "
            "images into one folder without class folders"
        )
    return [(picture, folder.name) for folder in sorted(folders) for picture in pictures_in(folder)]


def _images(pictures: Sequence[Picture], network: FewShotModel, *, invert: bool) -> Tensor:
    channels, height, width = network.shape
    if height != width:
        raise DataError(f"the model takes images of {height}x{width}, but only square ones are read from files")
    colour: Colour = "grey" if channels == 1 else "rgb"
    images = torch.stack([decode(picture, side=height, colour=colour) for picture in pictures])
    return 1.0 - images if invert else images
