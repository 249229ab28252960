"""Small networks of many kinds of layers, with rows for each, and the sum that micro-batches of one row give."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm

from siloseal.models.learner import LabelledRows, Rows

CLASSES = 3
WORDS = 7


class Scaled(nn.Module):
    """A parameter of its own beside a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.factor = nn.Parameter(torch.linspace(0.5, 2.0, 4))

    def forward(self, rows: Tensor) -> Tensor:
        return functional.tanh(self.inner(rows) * self.factor)


class Pairs(nn.Module):
    """A layer that is called with keywords and has two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.mixed = nn.Bilinear(4, 4, CLASSES)

    def forward(self, rows: Tensor) -> Tensor:
        return self.mixed(rows, input2=rows.sin())


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4)
        self.other.weight = self.one.weight

    def forward(self, rows: Tensor) -> Tensor:
        return self.other(self.one(rows).tanh())[:, :CLASSES]


class Twice(nn.Module):
    """A layer that runs twice."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Linear(4, 4), nn.Linear(4, CLASSES)

    def forward(self, rows: Tensor) -> Tensor:
        return self.head(self.layer(self.layer(rows).tanh()).tanh())


def twice(layer: nn.Linear) -> nn.Module:
    """A network in which a layer stands in two places."""
    return nn.Sequential(layer, nn.Tanh(), layer, nn.Tanh(), nn.Linear(layer.out_features, CLASSES))


class Borrowed(nn.Module):
    """A layer's weight that is used once more, outside of the layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Linear(4, 4), nn.Linear(4, CLASSES)

    def forward(self, rows: Tensor) -> Tensor:
        return self.head(functional.linear(self.layer(rows).tanh(), self.layer.weight))


class Uncalled(nn.Module):
    """A layer that never runs, though its weight does."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, CLASSES)

    def forward(self, rows: Tensor) -> Tensor:
        return functional.linear(rows, self.layer.weight, self.layer.bias)


class Unused(nn.Module):
    """Two layers whose output nothing uses: one with a formula, and one without."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.known, self.unknown = nn.Linear(4, CLASSES), nn.Linear(4, 4), nn.PReLU()

    def forward(self, rows: Tensor) -> Tensor:
        self.unknown(self.known(rows))
        return self.layer(rows)


class Doubled(nn.Linear):
    """A linear layer with another forward pass."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(2 * input.square())


class Residual(nn.Module):
    """A residual block that adds in place, as torchvision's do."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.first_norm = nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.GroupNorm(2, 4)
        self.other, self.second_norm = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.GroupNorm(2, 4)
        self.relu, self.shortcut = nn.ReLU(inplace=True), nn.Conv2d(2, 4, 1)

    def forward(self, maps: Tensor) -> Tensor:
        out = self.second_norm(self.other(self.relu(self.first_norm(self.one(maps)))))
        out += self.shortcut(maps)
        return self.relu(out)


class Last(nn.Module):
    """A recurrent layer, of which the last output counts."""

    def __init__(self, layer: nn.RNNBase, *, rows_first: bool = True, hidden: bool = False) -> None:
        super().__init__()
        self.layer, self.head, self._rows_first, self._hidden = layer, nn.Linear(5, CLASSES), rows_first, hidden

    def forward(self, rows: Tensor) -> Tensor:
        outputs, state = self.layer(rows if self._rows_first else rows.transpose(0, 1))
        if self._hidden:
            return self.head(state[-1])
        return self.head(outputs[:, -1] if self._rows_first else outputs[-1])


class Attention(nn.Module):
    """Attention of a sequence to itself, or of one half to the other."""

    def __init__(self, *, across: bool = False, dropout: float = 0.0) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(4, 2, dropout=dropout, batch_first=True)
        self.head, self._across = nn.Linear(4, CLASSES), across

    def forward(self, rows: Tensor) -> Tensor:
        asked, told = (rows[:, :2], rows[:, 2:]) if self._across else (rows, rows)
        return self.head(self.layer(asked, told, told, need_weights=False)[0].mean(1))


class Positions(nn.Module):
    """A learnt position and a learnt first token, as in a vision transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.positions = nn.Parameter(torch.randn(1, 1, 4)), nn.Parameter(torch.randn(1, 7, 4))
        self.body = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
        self.head = nn.Linear(4, CLASSES)

    def forward(self, rows: Tensor) -> Tensor:
        rows = torch.cat([self.first.expand(len(rows), -1, -1), rows], dim=1) + self.positions
        return self.head(self.body(rows)[:, 0])


class Half(nn.Module):
    """Of two layers one is frozen, and of the other the weight."""

    def __init__(self) -> None:
        super().__init__()
        self.frozen, self.partly = nn.Conv2d(2, 3, 3).requires_grad_(False), nn.Conv2d(3, 3, 3)
        self.partly.weight.requires_grad_(False)
        self.norm, self.attention = nn.BatchNorm2d(3).requires_grad_(False).eval(), nn.MultiheadAttention(3, 1)
        self.attention.requires_grad_(False)
        self.attention.out_proj.bias.requires_grad_(True)
        self.head = nn.Linear(3, CLASSES)
        self.head.bias.requires_grad_(False)

    def forward(self, maps: Tensor) -> Tensor:
        maps = self.partly(self.norm(self.frozen(maps))).tanh()
        sequence = maps.flatten(2).permute(2, 0, 1)  # rows are second here
        return self.head(self.attention(sequence, sequence, sequence)[0].mean(0))


def maps(*layers: nn.Module) -> nn.Module:
    """Layers on maps, then the mean of each map."""
    return nn.Sequential(*layers, nn.Tanh(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LazyLinear(CLASSES))


def sequence(*layers: nn.Module) -> nn.Module:
    """Layers on sequences, flattened into one linear layer."""
    return nn.Sequential(*layers, nn.Tanh(), nn.Flatten(), nn.LazyLinear(CLASSES))


MAPS, VECTORS, SEQUENCES, SIGNALS, VOLUMES = (2, 6, 7), (4,), (6, 4), (2, 9), (2, 4, 5, 4)

BOOK_KEPT: dict[str, tuple[tuple[int, ...], Callable[[], nn.Module]]] = {
    "linear": (VECTORS, lambda: nn.Linear(4, CLASSES)),
    "linear on a sequence, written": ((10, 4), lambda: sequence(nn.Linear(4, 5))),
    "linear on a sequence, by Gram": (SEQUENCES, lambda: sequence(nn.Linear(4, 40), nn.Tanh(), nn.Linear(40, 40))),
    "linear on a grid": ((2, 3, 4), lambda: sequence(nn.Linear(4, 5, bias=False))),
    "convolution of signals": (SIGNALS, lambda: sequence(nn.Conv1d(2, 3, 3, stride=2, padding=1))),
    "convolution": (MAPS, lambda: maps(nn.Conv2d(2, 3, 3), nn.Tanh(), nn.Conv2d(3, 40, 4))),
    "grouped convolution": (MAPS, lambda: maps(nn.Conv2d(2, 6, 3, groups=2), nn.Conv2d(6, 60, 4, groups=3))),
    "depthwise convolution": (MAPS, lambda: maps(nn.Conv2d(2, 2, 3, groups=2))),
    "dilated convolution": (MAPS, lambda: maps(nn.Conv2d(2, 3, 3, dilation=2), nn.Conv2d(3, 50, 2, dilation=(1, 2)))),
    "convolution padded to the same": (MAPS, lambda: maps(nn.Conv2d(2, 3, (2, 4), padding="same", dilation=(3, 1)))),
    "convolution without padding": (MAPS, lambda: maps(nn.Conv2d(2, 90, (5, 6), padding="valid"))),
    "convolution padded around": (MAPS, lambda: maps(nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode="circular"))),
    "convolution by Gram, padded to the same": (
        MAPS,
        lambda: maps(nn.Conv2d(2, 3, 3, stride=4), nn.Conv2d(3, 60, 4, padding="same", groups=3)),
    ),
    "convolution by Gram, reflected": (
        MAPS,
        lambda: maps(nn.Conv2d(2, 3, 3, stride=3), nn.Conv2d(3, 60, 3, padding=1, padding_mode="reflect")),
    ),
    "convolution of volumes": (
        VOLUMES,
        lambda: nn.Sequential(nn.Conv3d(2, 4, (2, 3, 2), padding=1, groups=2), nn.Flatten(), nn.LazyLinear(CLASSES)),
    ),
    "group norm": (MAPS, lambda: maps(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4))),
    "layer norm": (SEQUENCES, lambda: sequence(nn.LayerNorm(4), nn.Tanh(), nn.LayerNorm((6, 4)))),
    "layer norm of vectors": (VECTORS, lambda: nn.Sequential(nn.LayerNorm(4), nn.Linear(4, CLASSES))),
    "instance norm": (MAPS, lambda: maps(nn.InstanceNorm2d(2, affine=True))),
    "instance norm with fixed statistics": (
        MAPS,
        lambda: maps(nn.Conv2d(2, 3, 3), nn.InstanceNorm2d(3, affine=True, track_running_stats=True).eval()),
    ),
    "layer that reaches no loss": (VECTORS, Unused),
    "root mean square norm": (SEQUENCES, lambda: sequence(nn.RMSNorm(4), nn.Linear(4, 4))),
    "embedding": ((WORDS,), lambda: sequence(nn.Embedding(WORDS, 5, padding_idx=2), nn.Linear(5, 4))),
    "transposed convolution": (MAPS, lambda: maps(nn.ConvTranspose2d(2, 3, 3, stride=2))),
    "parametric relu": (MAPS, lambda: maps(nn.Conv2d(2, 3, 3), nn.PReLU(3))),
    "bilinear, with keywords": (VECTORS, Pairs),
    "parameter of its own": (VECTORS, lambda: nn.Sequential(Scaled(), nn.Linear(4, CLASSES))),
    "another forward pass": (VECTORS, lambda: nn.Sequential(Doubled(4, 4), nn.Tanh(), nn.Linear(4, CLASSES))),
    "attention to itself": (SEQUENCES, Attention),
    "attention with dropout": (SEQUENCES, lambda: Attention(dropout=0.5)),
    "attention to another": (SEQUENCES, lambda: Attention(across=True)),
    "transformer": (
        SEQUENCES,
        lambda: sequence(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.1, batch_first=True)),
    ),
    "vision transformer": (SEQUENCES, Positions),
    "lstm": (SEQUENCES, lambda: Last(nn.LSTM(4, 5, batch_first=True))),
    "gru": (SEQUENCES, lambda: Last(nn.GRU(4, 5, batch_first=True, bidirectional=False))),
    "residual block": (MAPS, lambda: maps(Residual())),
    "relu in place": (MAPS, lambda: maps(nn.Conv2d(2, 3, 3), nn.ReLU(inplace=True), nn.Conv2d(3, 3, 3))),
    "dropout": (VECTORS, lambda: nn.Sequential(nn.Linear(4, 9), nn.Dropout(0.3), nn.Linear(9, CLASSES))),
    "frozen parts": (MAPS, Half),
    "fixed batch norm": (MAPS, lambda: maps(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3).eval())),
}
"""Networks that book-keeping takes: the shape of a row, and how to build them."""

ALONE: dict[str, tuple[tuple[int, ...], Callable[[], nn.Module]]] = {
    "weight norm": (VECTORS, lambda: nn.Sequential(weight_norm(nn.Linear(4, 4)), nn.Tanh(), nn.Linear(4, CLASSES))),
    "tied weights": (VECTORS, Tied),
    "layer that runs twice": (VECTORS, Twice),
    "layer with two names": (VECTORS, lambda: twice(nn.Linear(4, 4))),
    "weight used outside of its layer": (VECTORS, Borrowed),
    "layer that never runs": (VECTORS, Uncalled),
    "attention to another with dropout": (SEQUENCES, lambda: Attention(across=True, dropout=0.5)),
    "gru with rows second": (SEQUENCES, lambda: Last(nn.GRU(4, 5), rows_first=False)),
    "hidden state of a gru": (SEQUENCES, lambda: Last(nn.GRU(4, 5, num_layers=2, batch_first=True), hidden=True)),
    "rows folded into positions": (
        SEQUENCES,
        lambda: nn.Sequential(
            nn.Flatten(0, 1), nn.Linear(4, 4), nn.Unflatten(0, (-1, 6)), nn.Flatten(), nn.Linear(24, CLASSES)
        ),
    ),
}
"""Networks whose rows must run alone."""

NETWORKS = BOOK_KEPT | ALONE


@dataclass(frozen=True)
class Case:
    """A network in double precision with losses and rows."""

    module: nn.Module
    shape: tuple[int, ...]
    words: bool

    def row_losses(self, rows: LabelledRows) -> Tensor:
        return functional.cross_entropy(self.module(rows.inputs), rows.labels, reduction="none")

    def public_rows(self, count: int) -> Rows:
        if self.words:
            return Rows(torch.randint(WORDS, (count, *self.shape)), torch.randint(CLASSES, (count,)))
        spread = torch.logspace(-1, 0.5, count, dtype=torch.float64).view(-1, *[1] * len(self.shape))
        return Rows(torch.randn(count, *self.shape, dtype=torch.float64) * spread, torch.randint(CLASSES, (count,)))

    def parameters(self) -> list[nn.Parameter]:
        return [parameter for parameter in self.module.parameters() if parameter.requires_grad]

    def row_gradients(self, rows: Rows) -> list[Tensor]:
        """One flat gradient a row, each from a batch of its own."""
        found = []
        for n in range(len(rows.labels)):
            loss = self.row_losses(Rows(rows.inputs[n : n + 1], rows.labels[n : n + 1])).sum()
            found.append(flat(torch.autograd.grad(loss, self.parameters(), materialize_grads=True)))
        return found

    def without_dropout(self) -> "Case":
        for part in self.module.modules():
            if isinstance(part, nn.Dropout):
                part.p = 0.0
            if isinstance(part, nn.MultiheadAttention):
                part.dropout = 0.0
        return self


def case_of(name: str) -> Case:
    torch.manual_seed(5)
    shape, build = NETWORKS[name]
    module, words = build(), name == "embedding"
    flags = [part.training for part in module.modules()]
    with torch.no_grad():
        module.eval()(torch.randint(WORDS, (2, *shape)) if words else torch.randn(2, *shape))  # fixes lazy layers
    for part, training in zip(module.modules(), flags, strict=True):
        part.training = training
    return Case(module.double(), shape, words)


def flat(gradients: list[Tensor] | tuple[Tensor, ...]) -> Tensor:
    return torch.cat([gradient.reshape(-1) for gradient in gradients])


def clipped(rows: list[Tensor], clip_norm: float) -> Tensor:
    return torch.stack([row / max(1.0, float(row.norm()) / clip_norm) for row in rows]).sum(0)
