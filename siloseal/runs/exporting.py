"""Released models for use elsewhere: as a program of torch.export, or in ONNX, for batches of any size.

What is written is the network alone, in evaluation mode. A classifier takes `inputs` and gives `logits`, whose softmax
are the probabilities; a generator takes `noise` and `labels` and gives `images` in [0, 1]. Before a file is written, it
is tried with a batch of another size, against the network itself.
"""

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never, get_args

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

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
OTHER_ROWS = 3
"""Rows of the batch that the exported program is tried with."""

_FREE = (
    "nothing in a network may fix the size of its batch, as len() of a tensor and torch.split do: change it, or use it "
    "with siloseal.load_model"
)


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
        _require_any_batch(stored, signature, content, to)
    except (ConfigError, RunError):
        raise
    except Exception as error:  # whatever a user's network does that cannot be traced
        said = next(iter(str(error).splitlines()), "")
        raise RunError(
            f"{model} cannot be written as {to} ({type(error).__name__}: {said}); change the network, or use it with "
            "siloseal.load_model"
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


def _require_any_batch(stored: StoredModel, signature: Signature, content: bytes, to: Format) -> None:
    """Require that the exported program takes more rows than it was traced with, and gives the network's outputs."""
    rows = {name: _other_rows(example) for name, example in signature.inputs.items()}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = tree_leaves(stored.network(*rows.values()))
        found = _outputs_of_torch(content, rows) if to == "torch" else _outputs_of_onnx(content, rows)
    for one, other in zip(found, expected, strict=True):
        if one.shape != other.shape or not torch.allclose(one, other, rtol=1e-3, atol=1e-4):
            raise RunError(
                f"the program written as {to} gives other outputs for {OTHER_ROWS} rows than the network does; a "
                f"network that draws numbers cannot be exported, and {_FREE}"
            )


def _other_rows(example: Tensor) -> Tensor:
    size = (OTHER_ROWS, *example.shape[1:])
    if not example.is_floating_point():
        return example.new_zeros(size)
    return torch.rand(size, generator=torch.Generator().manual_seed(0))


def _outputs_of_torch(content: bytes, rows: dict[str, Tensor]) -> Sequence[Tensor]:
    return tree_leaves(torch.export.load(io.BytesIO(content)).module()(*rows.values()))


def _outputs_of_onnx(content: bytes, rows: dict[str, Tensor]) -> Sequence[Tensor]:
    """The outputs by ONNX's own evaluator, which does not ask for the declared size of a batch: a runtime does."""
    from onnx import load_from_string
    from onnx.reference import ReferenceEvaluator

    model = load_from_string(content)
    for declared in (*model.graph.input, *model.graph.output):
        if not (size := declared.type.tensor_type.shape.dim[0]).dim_param:
            raise RunError(f"the program written as onnx has {declared.name} of just {size.dim_value} rows; {_FREE}")
    outputs = ReferenceEvaluator(model).run(None, {name: value.numpy() for name, value in rows.items()})
    return [torch.as_tensor(output) for output in outputs]
