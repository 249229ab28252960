"""Functions behind public names for a trained model: load it, draw from it, name records with it, write it elsewhere.

Commands that do the same call them, too. Whatever they refuse, be it a wrong type or a wrong value, is a
`SiloSealError`.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from siloseal._arguments import AnyPath, as_path
from siloseal.models.user_code.places import look_in

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from torch import Tensor
    from torch.nn import Module

    from siloseal.runs.adapting import Prediction
    from siloseal.runs.drawing import Samples
    from siloseal.runs.exporting import Format
    from siloseal.runs.predicting import Predicted

_MODEL = "the path of a run's folder or of its global.safetensors"


def load_model(path: AnyPath, *, code: str | None = None) -> "Module":
    """Load the global model of a run, from its folder or from its global.safetensors, as a `torch.nn.Module`.

    A file may name code of a user's own. It is run if the job of the same folder names it, or if you do:
    code="xray:build". Code that lies in that folder itself is run only if you name it.

    >>> siloseal.load_model("runs/first").shape
    (1, 8, 8)
    """
    from siloseal.models.model_files import read_model

    look_in(Path())
    return read_model(_model_file(path), code=code).network


def sample(model: "AnyPath | Module", *, label: int | None = None, count: int = 64, seed: int = 0) -> "Samples":
    """Draw images of one class, or of all classes in turn, from a generative model or from its file or run folder.

    That costs no privacy: the model is already released. Equal seeds give equal images.

    >>> images, labels = siloseal.sample("runs/first", label=3, count=5)
    >>> images.shape, labels.tolist()
    ((5, 1, 8, 8), [3, 3, 3, 3, 3])
    """
    from siloseal.runs.drawing import sample as draw

    return draw(_network_or_file(model), label=label, count=count, seed=seed)


def adapt(model: "AnyPath | Module", support: AnyPath, query: AnyPath, *, invert: bool = False) -> "list[Prediction]":
    """Learn the classes of `support`, a folder of class folders, with a few-shot model, and name the images of `query`.

    The model may be a network, its file or its run's folder. `invert` is for dark ink on light paper where the model
    was trained on light on dark. Nothing leaves this machine.

    >>> named = siloseal.adapt("few-shot.safetensors", "support", "query")
    >>> [(image.file, image.predicted) for image in named]
    [('query/0.png', 'lying'), ('query/1.png', 'upright')]
    """
    from siloseal.runs.adapting import adapt as name_images

    shown_images = as_path(support, "the path of a folder of class folders")
    asked_images = as_path(query, "the path of a folder of images")
    return name_images(_network_or_file(model), shown_images, asked_images, invert=invert)


def predict(
    model: "AnyPath | Module", inputs: "ArrayLike | Tensor | AnyPath", *, code: str | None = None
) -> "Predicted":
    """Name records with a classifier, given as a network, its file or its run's folder.

    `inputs` is an array or tensor of floats, (count, ...), scaled as the training data were: pixels lie in [0, 1]. Or
    it is the path of an .npz, of a .csv with the columns that the job declares, or of a folder of pictures, which are
    read as the training data were. `code` is as in `load_model`. Nothing leaves this machine.

    >>> import numpy
    >>> labels, probabilities = siloseal.predict("classifier.safetensors", numpy.zeros((3, 1, 8, 8)))
    >>> labels.shape, probabilities.sum(1).round(6).tolist()
    ((3,), [1.0, 1.0, 1.0])
    """
    from siloseal.runs.predicting import predict as name_classes

    if isinstance(inputs, str | os.PathLike):
        inputs = as_path(inputs, "the path of the records")
    look_in(Path())
    return name_classes(_network_or_file(model), inputs, code=code)


def export(model: AnyPath, out: AnyPath, *, to: "Format", code: str | None = None) -> None:
    """Write a model for use elsewhere: as a program of torch.export ("torch"), or in ONNX ("onnx").

    Either takes batches of any size. ONNX needs the extra `export`: pip install "siloseal[export]". `code` is as in
    `load_model`.

    >>> import torch
    >>> siloseal.export("classifier.safetensors", "classifier.pt2", to="torch")
    >>> torch.export.load("classifier.pt2").module()(torch.zeros(3, 1, 8, 8)).shape
    torch.Size([3, 10])
    """
    from siloseal.runs.exporting import export as write

    look_in(Path())
    write(_model_file(model), as_path(out, "the path of the file to write"), to=to, code=code)


def _network_or_file(given: object) -> "Module | Path":
    from torch.nn import Module

    return given if isinstance(given, Module) else _model_file(given)


def _model_file(given: object) -> Path:
    from siloseal.models.model_files import GLOBAL_MODEL

    path = as_path(given, _MODEL)
    return path / GLOBAL_MODEL if path.is_dir() else path
