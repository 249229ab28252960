"""What each part of a network saw and gave while one batch ran through it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

from siloseal.federation.errors import UnclippableModule
from siloseal.models.process_randomness import RandomStates
from siloseal.silo.training.clipping.layers.any_module import tensors_in
from siloseal.silo.training.clipping.layers.attention import LinearCall, LinearCalls, trained_projections
from siloseal.silo.training.clipping.parts import Part


@dataclass(frozen=True)
class Pass:
    """One call of a part."""

    arguments: tuple[object, ...]
    keywords: Mapping[str, object]
    outputs: Mapping[int, GradientEdge]
    """Outputs that have a gradient, by their place among all tensors that the part returned.

    An edge stays where it is in the graph when later code changes the tensor in place, as `ReLU(inplace=True)` does.
    """
    versions: tuple[int, ...]
    """Versions of the input tensors: torch counts one up at every change in place."""
    random: bool
    """Whether the part drew random numbers; known for the kinds that may have to run again."""

    @property
    def tensors(self) -> list[Tensor]:
        """The tensors that went in."""
        return list(tensors_in((self.arguments, dict(self.keywords))))


@dataclass
class Recording:
    """The calls of all parts in one forward pass."""

    passes: dict[str, Pass] = field(default_factory=dict)
    projections: dict[str, dict[str, LinearCall]] = field(default_factory=dict)
    """Calls of attention's projections, by part and weight; none where one ran twice or not at all."""

    def require_untouched_inputs(self) -> None:
        """Raise `UnclippableModule` if an input was changed in place after a part had used it."""
        for name, record in self.passes.items():
            if tuple(tensor._version for tensor in record.tensors) != record.versions:
                raise UnclippableModule(
                    f"an input of layer '{name}' was changed in place after the layer had used it, so its gradient can "
                    "no longer be told; use operations that return a new tensor"
                )


@contextmanager
def recording(parts: Mapping[str, Part]) -> Iterator[Recording]:
    """Record every part's call while the block runs."""
    recorded = Recording()
    watched = {
        part.name: {name: part.module.get_parameter(name) for name in trained_projections(part.trained)}
        for part in parts.values()
        if part.kind == "attention"
    }
    with ExitStack() as stack:
        for part in parts.values():
            _hook(part, recorded, stack)
        calls = LinearCalls(weight for weights in watched.values() for weight in weights.values())
        if watched:
            stack.enter_context(calls)
        yield recorded
    for part_name, weights in watched.items():
        found = {name: calls.calls[weight] for name, weight in weights.items()}
        if all(len(each) == 1 for each in found.values()):
            recorded.projections[part_name] = {name: call for name, (call,) in found.items()}


def _hook(part: Part, recorded: Recording, stack: ExitStack) -> None:
    random_before: list[RandomStates] = []

    def before(_module: nn.Module, _arguments: object) -> None:
        random_before[:] = [RandomStates.now()]

    def after(_module: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any], output: object) -> None:
        if part.name in recorded.passes:
            raise UnclippableModule(
                f"layer '{part.name}' ran twice in one pass, so a row's gradient is no longer one outer product; "
                "use it once, on all rows together"
            )
        random = any(not states.equals(RandomStates.now()) for states in random_before)
        recorded.passes[part.name] = _pass(arguments, keywords, output, random=random)

    if part.kind in ("any", "attention"):
        stack.callback(part.module.register_forward_pre_hook(before).remove)
    stack.callback(part.module.register_forward_hook(after, with_kwargs=True).remove)


def _pass(arguments: Sequence[object], keywords: Mapping[str, object], output: object, *, random: bool) -> Pass:
    outputs = {n: get_gradient_edge(tensor) for n, tensor in enumerate(tensors_in(output)) if tensor.requires_grad}
    given = tuple(_detached(part) for part in arguments), {name: _detached(part) for name, part in keywords.items()}
    versions = tuple(tensor._version for tensor in tensors_in(given))
    return Pass(*given, outputs, versions, random)


def _detached(value: object) -> object:
    return value.detach() if isinstance(value, Tensor) else value
