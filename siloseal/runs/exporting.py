"""Released models for use elsewhere: as a program of torch.export, or in ONNX, for batches of any size.

What is written is the network alone, in evaluation mode. A classifier takes `inputs` and gives `logits`, whose softmax
are the probabilities; a generator takes `noise` and `labels` and gives `images` in [0, 1].
"""

import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never, get_args

import torch
from torch import Tensor

from siloseal.federation.config.quoting import quoted
from siloseal.federation.errors import ConfigError, RunError
from siloseal.federation.records.storage import write_atomically
from siloseal.models.gan.generators import Generator
from siloseal.models.meta.model import FewShotModel
from siloseal.models.model_files import StoredModel, read_model, require_whole

Format = Literal["onnx", "torch"]
BATCH = "batch"
ROWS = 2
"""Rows of the batch that a network is traced with. One would count as fixed."""


@dataclass(frozen=True)
class Signature:
    """What a network takes, with examples of it, and what it gives."""

    inputs: dict[str, Tensor]
    output: str


def export(model: Path, out: Path, *, to: Format, code: str | None = None) -> None:
    """Write the model of a file in another format."""
    if to not in get_args(Format):
        raise ConfigError(f"to is {quoted(to)}, expected {' or '.join(get_args(Format))}")
    stored = read_model(model, code=code)
    require_whole(stored, model)
    signature = signature_of(stored, model)
    stored.network.eval().requires_grad_(False)
    try:
        content = _content(stored, signature, to)
    except ConfigError:
        raise
    except Exception as error:  # whatever a user's network does that cannot be traced
        raise RunError(
            f"{model} cannot be written as {to} ({type(error).__name__}: {str(error).splitlines()[0]}); change the "
            "network, or use it with siloseal.load_model"
        ) from error
    try:
        write_atomically(out, content)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written ({error}); choose another path") from error


def signature_of(stored: StoredModel, origin: Path) -> Signature:
    """What the model takes and gives; `ConfigError` for a few-shot model, which takes more than one batch."""
    network = stored.network
    if isinstance(network, FewShotModel):
        raise ConfigError(
            f"{origin} holds a {stored.learner.kind}, which learns from labelled images each time it is used: that is "
            "a procedure, and no network that takes a batch; use it with `siloseal adapt`"
        )
    if isinstance(network, Generator):
        noise, labels = torch.zeros(ROWS, network.latent), torch.zeros(ROWS, dtype=torch.int64)
        return Signature({"noise": noise, "labels": labels}, "images")
    output = "logits" if stored.learner.kind == "classifier" else "outputs"
    return Signature({"inputs": torch.zeros(ROWS, *stored.shape)}, output)


def _content(stored: StoredModel, signature: Signature, to: Format) -> bytes:
    with warnings.catch_warnings():  # torch warns of its own use of its own deprecated parts
        warnings.simplefilter("ignore")
        match to:
            case "torch":
                return _torch_program(stored, signature)
            case "onnx":
                return _onnx_model(stored, signature)
            case _:
                assert_never(to)


def _torch_program(stored: StoredModel, signature: Signature) -> bytes:
    program = torch.export.export(
        stored.network, tuple(signature.inputs.values()), dynamic_shapes=_any_batch(signature), strict=False
    )
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()


def _onnx_model(stored: StoredModel, signature: Signature) -> bytes:
    try:
        import onnxscript  # noqa: F401 (torch's exporter needs it, and would say so in other words)
    except ImportError as error:
        raise ConfigError(
            "onnx needs packages that are not installed; install them with pip install 'siloseal[export]', or export "
            "to torch"
        ) from error
    program = torch.onnx.export(
        stored.network,
        tuple(signature.inputs.values()),
        dynamo=True,
        verbose=False,
        input_names=list(signature.inputs),
        output_names=[signature.output],
        dynamic_shapes=_any_batch(signature),
    )
    if program is None:
        raise RunError("torch made no ONNX model; use siloseal.load_model")
    return bytes(program.model_proto.SerializeToString())


def _any_batch(signature: Signature) -> tuple[dict[int, object], ...]:
    """The first size of every input is one and the same, and free."""
    batch = torch.export.Dim(BATCH)
    return tuple({0: batch} for _ in signature.inputs)
