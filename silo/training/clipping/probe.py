"""What a network does with rows that are made up, tried before any real row meets it.

A formula may be right and the network use the layer in another way: its weight in two places, its output changed past
the hooks. So the sum that a way finds is compared with rows that run alone. And what no formula can repair is noticed:
a loss that depends on another row, and statistics that a forward pass leaves behind.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from siloseal.federation.errors import UnclippableModule
from siloseal.models.learner import LabelledRows, Rows
from siloseal.models.modes import kept_modes
from siloseal.models.process_randomness import kept_randomness
from siloseal.silo.training.clipping.row_by_row import RowByRow
from siloseal.silo.training.clipping.way import PASS_ROWS, ClippingWay, RowLosses

COUNTS = (5, 3)
"""Numbers of rows of the probes: two, so that no other dimension of a tensor can be taken for the rows."""

STIR = 0.1
"""Standard deviation of what is added to every parameter while a network is tried."""

MOVES = (1, 2, 5)
"""Strides by which all rows move up to see whether their gradients stay the same."""

UNCLIPPED = 1e30
SUM_TOLERANCE = 1e-3
LOOSEST = 0.5
"""Part of the clip norm that must be left of a clipped row. Norms are rounded up, so a row may be clipped too much."""

PublicRows = Callable[[int], LabelledRows]


class Probe:
    """A network with its losses and rows that are made up for it. Nothing that it tries leaves a trace."""

    def __init__(self, module: nn.Module, row_losses: RowLosses, public_rows: PublicRows) -> None:
        self._module, self._row_losses, self._public_rows = module, row_losses, public_rows
        with kept_randomness():
            self._batches = [(public_rows(count), public_rows(count)) for count in COUNTS]
            self._full = public_rows(PASS_ROWS), public_rows(PASS_ROWS)  # some networks mix large batches only

    def require_separate_rows(self) -> None:
        """Raise `UnclippableModule` if a loss depends on another row, or if a forward pass changes the network."""
        with self._stirred(), _leaving_no_trace(self._module) as changed:
            for rows, others in (*self._batches, self._full):
                self._require_one_loss_a_row(rows)
                for row in _tried(len(rows.labels)):
                    self._require_own(row, rows, others)
            if changed():
                raise UnclippableModule(
                    f"a forward pass changes {', '.join(changed())}, so that rows leave a trace that no noise hides; "
                    "use layers that keep no statistics, such as GroupNorm"
                )

    def agrees(self, way: ClippingWay) -> bool:
        """Whether the way finds the gradients of rows that run alone, and clips each of them by its own norm."""
        with self._stirred():
            for rows, _ in self._batches:
                way.gradient_sum(self._row_losses, rows, clip_norm=1.0)  # as in training, with its randomness
        with self._stirred():
            self._module.eval()  # without dropout, so that two runs can be compared
            return all(self._same(way, rows) for rows, _ in self._batches)

    def keeps_rows_apart(self, way: ClippingWay, size: int, *, stride: int = 1) -> bool:
        """Whether a row's gradient is the same to the last bit, among any rows and at any place of a pass of this size.

        Where rows go, those behind them move up, by whole strides. And a product of matrices may depend on where a row
        lies in memory.
        """
        with kept_randomness():
            rows, others = self._public_rows(size), self._public_rows(size)
        with self._stirred():
            self._module.eval()  # without dropout, so that two runs can be compared
            found = way.sources(self._row_losses, rows)
            own = _only(0, rows)
            changed = Rows(_where(own, rows.inputs, others.inputs), _where(own, rows.labels, others.labels))
            among = way.sources(self._row_losses, changed)
            return _same_bits([part[:1] for part in found], [part[:1] for part in among]) and all(
                _same_bits([part.roll(move, 0) for part in found], way.sources(self._row_losses, _rolled(rows, move)))
                for move in (stride * count for count in MOVES)
            )

    @contextmanager
    def _stirred(self) -> Iterator[None]:
        """Other parameters than the first ones, which may be zeros: behind a layer of zeros nothing can be seen."""
        with _leaving_no_trace(self._module):
            with torch.no_grad():
                for parameter in self._module.parameters():
                    parameter.add_(STIR * torch.randn_like(parameter))
            yield

    def _require_one_loss_a_row(self, rows: LabelledRows) -> None:
        if (found := self._losses(rows).shape) != (count := (len(rows.labels),)):
            raise UnclippableModule(
                f"{count[0]} rows have losses of shape {tuple(found)}, expected {count}; return one a row"
            )

    def _require_own(self, row: int, rows: LabelledRows, others: LabelledRows) -> None:
        """Change all rows but this one: neither its loss nor the derivative of its loss may know of the others."""
        own, others = _only(row, rows), _outlying(others)
        changed = Rows(_where(own, rows.inputs, others.inputs), _where(own, rows.labels, others.labels))
        before, after = self._losses(rows)[row], self._losses(changed)[row]
        rounding = 64 * torch.finfo(before.dtype).eps
        same = torch.allclose(before, after, rtol=rounding, atol=rounding, equal_nan=True)
        if not same or self._reaches_others(row, rows):
            raise UnclippableModule(
                "the network mixes examples: the loss of one row depends on another row of the batch, so no row's "
                "influence can be clipped; normalise and pool within one example, and not over the batch"
            )

    def _reaches_others(self, row: int, rows: LabelledRows) -> bool:
        if not rows.inputs.is_floating_point():
            return False
        inputs = rows.inputs.clone().requires_grad_()
        loss = self._losses(Rows(inputs, rows.labels))[row]
        (found,) = torch.autograd.grad(loss, inputs, materialize_grads=True)
        return bool(found[~_only(row, rows)].any())

    def _losses(self, rows: LabelledRows) -> Tensor:
        torch.default_generator.manual_seed(0)  # the same dropout in every run; what was before is put back later
        return self._row_losses(rows)

    def _same(self, way: ClippingWay, rows: LabelledRows) -> bool:
        alone = RowByRow(self._module, vectorised=False)
        singles = [
            alone.gradient_sum(
                self._row_losses, Rows(rows.inputs[n : n + 1], rows.labels[n : n + 1]), clip_norm=UNCLIPPED
            )
            for n in range(len(rows.labels))
        ]
        total = [torch.stack(parts).sum(0) for parts in zip(*singles, strict=True)]
        if not _close(way.gradient_sum(self._row_losses, rows, clip_norm=UNCLIPPED), total):
            return False
        return all(self._clips(way, rows, row, single) for row, single in enumerate(singles))

    def _clips(self, way: ClippingWay, rows: LabelledRows, row: int, gradient: list[Tensor]) -> bool:
        """Whether half of the row's norm, as a clip norm, is what is left of it; the other rows weigh nothing."""
        clip_norm = float(_norm(gradient)) / 2
        if not clip_norm > 0:
            return True
        if isinstance(way, RowByRow):
            single = Rows(rows.inputs[row : row + 1], rows.labels[row : row + 1])
            found = way.gradient_sum(self._row_losses, single, clip_norm=clip_norm)
        else:
            alone = _only(row, rows).to(gradient[0])
            found = way.gradient_sum(lambda batch: self._row_losses(batch) * alone, rows, clip_norm=clip_norm)
        left = float(_norm(found)) / clip_norm
        return LOOSEST <= left <= 1 + SUM_TOLERANCE and _close(found, [part * left / 2 for part in gradient])


def _tried(rows: int) -> Sequence[int]:
    """The rows of a batch that are tried one after the other: all of a small one, the first and last of a large one."""
    return range(rows) if rows <= max(COUNTS) else (0, rows - 1)


@contextmanager
def _leaving_no_trace(module: nn.Module) -> Iterator[Callable[[], list[str]]]:
    """Put modes, parameters, buffers and the process's randomness back; inside, name what has changed so far."""
    before = {name: tensor.detach().clone() for name, tensor in _tensors(module).items()}

    def changed() -> list[str]:
        now = _tensors(module)
        return [name for name, tensor in before.items() if not torch.equal(now[name], tensor)]

    with kept_randomness(), kept_modes(module):
        try:
            yield changed
        finally:
            with torch.no_grad():
                for name in changed():
                    _tensors(module)[name].copy_(before[name])


def _outlying(rows: LabelledRows) -> LabelledRows:
    """The same rows, up to a million times as large, of either sign: what looks at the largest row shows then."""
    if not rows.inputs.is_floating_point():
        return rows
    sizes = torch.logspace(0, 6, len(rows.labels)) * (1 - 2 * (torch.arange(len(rows.labels)) % 2))
    shape = (-1, *[1] * (rows.inputs.ndim - 1))
    return Rows(rows.inputs * sizes.to(rows.inputs).reshape(shape), rows.labels)


def _tensors(module: nn.Module) -> dict[str, Tensor]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _only(row: int, rows: LabelledRows) -> Tensor:
    """The mask (rows,) of one row."""
    return torch.arange(len(rows.labels), device=rows.labels.device) == row


def _rolled(rows: LabelledRows, move: int) -> Rows:
    return Rows(rows.inputs.roll(move, 0), rows.labels.roll(move, 0))


def _same_bits(one: list[Tensor], other: list[Tensor]) -> bool:
    return len(one) == len(other) and all(map(torch.equal, one, other))


def _where(own: Tensor, one: Tensor, other: Tensor) -> Tensor:
    return torch.where(own.view(-1, *[1] * (one.ndim - 1)), one, other)


def _close(found: list[Tensor], expected: list[Tensor]) -> bool:
    slack = 1e-5 * float(_norm(expected))
    return all(
        float((one - other).norm()) <= SUM_TOLERANCE * float(other.norm()) + slack
        for one, other in zip(found, expected, strict=True)
    )


def _norm(parts: list[Tensor]) -> Tensor:
    norm: Tensor = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(part) for part in parts]))
    return norm
