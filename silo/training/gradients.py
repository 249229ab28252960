"""Sums of units' gradients, each unit clipped on its own: examples in a batch, tasks one after the other."""

import itertools
import math
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Protocol, cast

import torch
from torch import Tensor, nn

from siloseal.federation.errors import RunError
from siloseal.federation.randomness import Randomness, SecureRandomness
from siloseal.models.classifier.learner import ClassifierLearner
from siloseal.models.gan.learner import GanLearner
from siloseal.models.learner import ExampleLearner, LabelledRows, Rows, TaskLearner
from siloseal.models.meta.learners import EmbeddingLearner
from siloseal.models.meta.tasks import Task
from siloseal.models.process_randomness import drawing, secret_randomness
from siloseal.models.vectors import trainable_parameters
from siloseal.silo.training.clipping.book_keeping import BookKeeping
from siloseal.silo.training.clipping.passes import rows_of_a_pass
from siloseal.silo.training.clipping.plain import is_plain
from siloseal.silo.training.clipping.plan import NOT_APART, ClippingPlan, clipping_plan, one_by_one, steady_plan
from siloseal.silo.training.clipping.probe import Probe
from siloseal.silo.training.clipping.way import PASS_ROWS, RowLosses
from siloseal.silo.training.device import CPU
from siloseal.silo.training.draws import may_draw

MOST_NAMED = 5
"""Most tensors that an error names."""

Written = tuple[object, object]
"""What must stay one and the same thing, a tensor or nothing, and what must be equal: how often it was written to."""


class ExampleSource(Protocol):
    """Private examples that can be counted and drawn from."""

    def __len__(self) -> int: ...

    def select(self, indices: Tensor) -> LabelledRows: ...

    def made_up(self, count: int) -> LabelledRows:
        """Rows of the same shapes, types and ranges, which no data entered: other ones at every call.

        A network that a user brings is tried on them, to choose how its rows' gradients are told apart.
        """


class TaskSource(Protocol):
    """Private tasks that can be counted and drawn from."""

    def __len__(self) -> int: ...

    def select(self, indices: Tensor) -> Sequence[Task]: ...


class UnitGradients(Protocol):
    """Private units, by their gradients alone."""

    def require_clippable(self) -> str:
        """Raise `UnclippableModule` where one unit's gradient cannot be separated from the others'.

        Where that takes a pass for each row, return why.
        """

    def sum(self, sample: Tensor, *, clip_norm: float | None) -> Tensor:
        """The flat sum over the sampled units of g / max(1, |g| / C); without a clip norm, of g.

        Sums of clipped units are doubles (`clipping/long_sum.py`).
        """


class ExampleGradients:
    """Gradients of a learner that has a loss a row."""

    def __init__(
        self,
        learner: ExampleLearner,
        data: ExampleSource,
        device: torch.device,
        *,
        expected_batch: float,
        randomness: Randomness,
    ) -> None:
        self._learner, self._data, self._device, self._randomness = learner, data, device, randomness
        self._pass_rows = rows_of_a_pass(learner.private_module, expected_batch)

    def require_clippable(self) -> str:
        return self._way.alone

    @cached_property
    def _way(self) -> ClippingPlan:
        learner = self._learner
        if self._is_ours:
            probe = Probe(learner.private_module, self._unit_losses, self._made_up)
            books = BookKeeping(learner.private_module)
            plan = steady_plan(probe, learner.private_module, books, self._pass_rows)
            return plan or one_by_one(learner.private_module, NOT_APART)
        # Code of a user's own sees one row at a time: in its network, and in its losses.
        known_losses = getattr(type(learner), "row_losses", None) is ClassifierLearner.row_losses
        return clipping_plan(
            learner.private_module,
            learner.row_losses,
            self._data.made_up,
            rows_may_share=known_losses and is_plain(learner.private_module),
            pass_rows=self._pass_rows,
        )

    def _made_up(self, count: int) -> LabelledRows:
        """Rows that no data entered, of classes that one of our learners takes."""
        rows = self._data.made_up(count)
        if isinstance(self._learner, EmbeddingLearner):
            return Rows(rows.inputs, self._learner.declared(rows.labels))
        return rows

    @property
    def _unit_losses(self) -> RowLosses:
        """The losses of units' rows alone, whatever other rows the learner has."""
        return self._learner.unit_losses if isinstance(self._learner, GanLearner) else self._learner.row_losses

    @cached_property
    def _may_draw(self) -> bool:
        return may_draw(self._learner)

    @property
    def _is_ours(self) -> bool:
        """Whether the network is one of those whose layers book-keeping was written for; a subclass may not be."""
        return type(self._learner) in (GanLearner, EmbeddingLearner)

    def sum(self, sample: Tensor, *, clip_norm: float | None) -> Tensor:
        units = self._there(self._data.select(sample))
        if clip_norm is not None:
            way = self._way  # chosen on rows that are made up, before anything is compared
            draws = _private_draws(self._randomness, secret=self._may_draw or way.watches_draws)
            with _unwritten(self._learner, attributes=not self._is_ours), draws:
                return _flat(self._clipped_sum(way, units, sample, clip_norm))
        parameters = trainable_parameters(self._learner.private_module)
        if len(sample) == 0 and not self._is_ours:  # some layers cannot run on no rows
            return _flat([torch.zeros_like(parameter) for parameter in parameters])
        with drawing():
            total = self._learner.row_losses(units).sum()
        return _flat(torch.autograd.grad(total, parameters, materialize_grads=True))

    def _clipped_sum(self, plan: ClippingPlan, rows: LabelledRows, sample: Tensor, clip_norm: float) -> list[Tensor]:
        numbers = sample[: len(rows.labels)]  # an audit's source leaves its last unit out, where that is nothing
        if not isinstance(self._learner, GanLearner):
            return plan.gradient_sum(self._learner.row_losses, rows, clip_norm=clip_norm, units=numbers)
        # Fakes run without units, always as many: no unit's pass is larger for them, and no fake's for a unit.
        found = plan.gradient_sum(
            self._learner.unit_losses, self._learner.blurred(rows), clip_norm=clip_norm, units=numbers
        )
        fakes = self._learner.fakes()
        public = plan.way.gradient_sum(self._learner.fake_losses, fakes, clip_norm=clip_norm)
        return [part + other for part, other in zip(found, public, strict=True)]

    def _there(self, rows: LabelledRows) -> LabelledRows:
        return rows if self._device == CPU else Rows(rows.inputs.to(self._device), rows.labels.to(self._device))


def _private_draws(randomness: Randomness, *, secret: bool) -> AbstractContextManager[None]:
    """For a private step. One that may draw does so in secret, and alone; others run together."""
    return secret_randomness(randomness) if secret else drawing()


@contextmanager
def _unwritten(learner: ExampleLearner, *, attributes: bool) -> Iterator[None]:
    """Refuse a learner that writes into its networks while it sees data: what stands there leaves without noise.

    Torch counts writes, so that comparing costs next to nothing. What goes past the counters, such as a write into
    `.data`, `siloseal check-learner` finds by the numbers themselves. With `attributes`, plain ones count, too: a
    largest value or a last loss that is kept carries one row into the steps of others.
    """
    before = _writes(learner, attributes=attributes)
    try:
        yield
    except RuntimeError as error:  # torch's own: where rows run alone, it refuses writes before they happen
        words = (str(error) or type(error).__name__).splitlines()[0]
        raise RunError(
            f"row_losses() of {type(learner).__name__} failed in a private step ({words}); it computes losses from the "
            "rows and the private module, and changes nothing"
        ) from error
    after = _writes(learner, attributes=attributes)
    changed = [name for name in before.keys() | after.keys() if not _is_same(before.get(name), after.get(name))]
    if changed:
        raise RunError(
            f"row_losses() of {type(learner).__name__} changes {', '.join(sorted(changed)[:MOST_NAMED])}: while it "
            "sees data it changes no parameter, buffer or attribute, because what data write there reaches other "
            "steps, or leaves the silo, without noise; write nothing, or do it in public_step(), which sees no data"
        )


def _writes(learner: ExampleLearner, *, attributes: bool) -> dict[str, Written]:
    """Every parameter and buffer of the learner's networks, and how often it was written to so far."""
    found = dict[str, Written]()
    if attributes:
        found |= {name: kept for name, value in vars(learner).items() if (kept := _kept(value)) is not None}
    for network in ("private_module", "shared_model"):
        module: nn.Module = getattr(learner, network)
        for name, tensor in itertools.chain(module.named_parameters(), module.named_buffers()):
            found[f"{network}.{name}"] = tensor, 0 if tensor.is_inference() else tensor._version
        for place, part in module.named_modules() if attributes else ():
            plain = {name: kept for name, value in vars(part).items() if (kept := _kept(value)) is not None}
            found |= {f"{network}.{place}.{name}": kept for name, kept in plain.items()}
    return found


def _kept(value: object) -> Written | None:
    """What tells a changed attribute from an unchanged one: of collections the length, of other objects nothing."""
    match value:
        case Tensor():
            return value, 0 if value.is_inference() else value._version
        case bool() | int() | float() | str() | bytes() | None:
            return None, repr(value)  # a NaN equals itself so
        case list() | dict() | set() | deque():
            return None, len(value)
        case _:
            return None


def _is_same(one: Written | None, other: Written | None) -> bool:
    """Whether it is one tensor, and not only an equal one, to which nothing was written in between."""
    return one is not None and other is not None and one[0] is other[0] and one[1] == other[1]


class TaskGradients:
    """Gradients of a learner that computes a task's whole gradient by itself: any network can be clipped so."""

    def __init__(self, learner: TaskLearner, data: TaskSource, device: torch.device, *, randomness: Randomness) -> None:
        self._learner, self._data, self._device, self._randomness = learner, data, device, randomness

    def require_clippable(self) -> str:
        """Accept every network: one task is computed at a time, of which all rows share passes."""
        return ""

    def sum(self, sample: Tensor, *, clip_norm: float | None) -> Tensor:
        parameters = trainable_parameters(self._learner.private_module)
        total = torch.zeros(sum(part.numel() for part in parameters), dtype=torch.float64)
        tasks = [task.to(self._device) for task in self._data.select(sample)]
        with _private_draws(self._randomness, secret=clip_norm is not None and may_draw(self._learner)):
            for _, found in zip(tasks, self._learner.task_gradients(tasks), strict=True):
                gradient = found.cpu()  # norms are taken in double precision, which not every device has
                total += gradient if clip_norm is None else clipped(gradient, clip_norm)
        return total if clip_norm is not None else total.to(self._device, torch.float32)


def unit_gradients(
    learner: ExampleLearner | TaskLearner,
    data: ExampleSource | TaskSource,
    device: torch.device = CPU,
    *,
    expected_batch: float = PASS_ROWS,
    randomness: Randomness | None = None,
) -> UnitGradients:
    """The gradients as the learner computes them, on the device where its networks are.

    Tasks run one at a time. Examples run in passes, whose size follows from the expected batch alone. What a network
    draws for a clipped sum follows from `randomness`, by default the operating system's.
    """
    randomness = randomness or SecureRandomness()
    if isinstance(learner, TaskLearner):
        return TaskGradients(learner, cast(TaskSource, data), device, randomness=randomness)
    return ExampleGradients(
        learner, cast(ExampleSource, data), device, expected_batch=expected_batch, randomness=randomness
    )


def clipped(gradient: Tensor, clip_norm: float) -> Tensor:
    """One unit's gradient, shortened to the clip norm. One that overflows gets no influence instead of all of it."""
    norm = float(torch.linalg.vector_norm(gradient, dtype=torch.float64))
    if not math.isfinite(norm):
        return torch.zeros_like(gradient)
    return gradient * min(1.0, clip_norm / norm) if norm > 0 else gradient


def _flat(gradients: Sequence[Tensor]) -> Tensor:
    return torch.cat([gradient.reshape(-1) for gradient in gradients])
