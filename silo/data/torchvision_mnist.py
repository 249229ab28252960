"""The download of MNIST and Fashion-MNIST by torchvision: its mirrors and its checksums, not its readers.

Imported only when a download is wanted, because importing torchvision takes seconds.
"""

import tempfile
from http.client import HTTPException
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import torch

from siloseal.federation.errors import DataError

# Torchvision built for another torch (its CUDA wheel beside a CPU torch, say) cannot load its C++ operators, and then
# its import fails over these two, although data sets need neither. Declaring them lets the import pass. Kept here for
# the life of the process: an operator goes when its library object goes.
_STAND_INS: list[torch.library.Library] = []


def download_idx(name: Literal["mnist", "fashion_mnist"], folder: Path) -> None:
    """Put the four gzipped IDX files into `folder`, each checked against torchvision's MD5.

    They arrive in a temporary folder beside their destination and move in only when all are complete, so that an
    interrupted download leaves nothing that looks like data.
    """
    datasets = _datasets()
    source = datasets.MNIST if name == "mnist" else datasets.FashionMNIST
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as arriving:
            fetched = source(arriving, download=True)
            for filename, _ in source.resources:
                (Path(fetched.raw_folder) / filename).replace(folder / filename)
    except (RuntimeError, OSError, HTTPException) as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"the download of {name} into {folder} failed ({reason}); check the network and the folder's permissions, "
            "or copy the four IDX files there by hand"
        ) from error


def _datasets() -> Any:
    """`torchvision.datasets`, without types because the package has none."""
    try:
        return import_module("torchvision.datasets")
    except ImportError as error:
        raise DataError("downloads need torchvision, which is not installed; install it, or fetch by hand") from error
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
    # Only after the failure: where torchvision does load its operators, a second declaration would clash with them.
    library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    for operator in ("nms", "qnms"):
        schema = f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        library.define(schema)  # type: ignore[no-untyped-call]
    _STAND_INS.append(library)
    return import_module("torchvision.datasets")
