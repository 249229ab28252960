"""One unit more or less leaves the gradients of all others alone, whatever the network makes of a last bit."""

import pytest
import torch
from torch import Tensor, nn

from siloseal.federation.privacy.mechanisms.gaussian_noise import ALLOWANCE
from siloseal.models.classifier.learner import ClassifierLearner
from siloseal.models.classifier.networks import built_in
from siloseal.models.learner import Rows
from siloseal.silo.training.clipping.passes import FEWEST_ROWS, equal_passes, rows_of_a_pass
from siloseal.silo.training.clipping.way import PASS_ROWS
from siloseal.silo.training.gradients import unit_gradients


class Same:
    """Any number of records of one image."""

    def __init__(self, image: Tensor) -> None:
        self._image = image

    def __len__(self) -> int:
        return 400

    def select(self, indices: Tensor) -> Rows:
        return Rows(self._image.repeat(len(indices), 1, 1, 1), torch.zeros(len(indices), dtype=torch.int64))

    def made_up(self, count: int) -> Rows:
        return Rows(torch.rand(count, 1, 28, 28), torch.randint(0, 10, (count,)))


def amplifying(image: Tensor) -> nn.Module:
    """A network of which a last bit of the first layer, other in three rows than in four, decides the gradient."""
    network = built_in("mlp", (1, 28, 28), 10)
    first, second, last = network[1], network[3], network[5]
    three, four = image.repeat(3, 1, 1, 1).flatten(1), image.repeat(4, 1, 1, 1).flatten(1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        first.weight.uniform_(-1.0, 1.0)
        for _ in range(3):
            first.bias.sub_(first(three)[0])
        second.weight[:, (first(three)[0] <= 0) & (first(four)[0] > 0)] = 64.0
        last.weight[1], last.bias[0] = 64.0, 64.0
    return network


@pytest.mark.parametrize("expected_batch", [4, 64, 400])
def test_a_network_that_amplifies_last_bits_moves_by_the_clip_norm_at_most(expected_batch: int) -> None:
    torch.manual_seed(3)
    image = torch.rand(1, 1, 28, 28)
    gradients = unit_gradients(ClassifierLearner(amplifying(image)), Same(image), expected_batch=expected_batch)
    for count in (3, 67, 131):
        more, fewer = (gradients.sum(torch.arange(n), clip_norm=1.0).double() for n in (count + 1, count))
        assert (more - fewer).norm() <= 1 + ALLOWANCE


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 24])
def test_every_pass_has_the_same_size_and_every_row_counts_once(count: int) -> None:
    rows = Rows(torch.arange(float(count))[:, None], torch.arange(count))
    passes = list(equal_passes(rows, 8))
    assert len(passes) == -(-count // 8)
    assert all(len(part.labels) == len(part.inputs) == len(counted) == 8 for part, counted in passes)
    found = [int(label) for part, counted in passes for label in part.labels[counted]]
    assert found == list(range(count))


@pytest.mark.parametrize("network", [nn.Linear(4, 2), nn.Sequential(nn.Conv2d(1, 2, 3), nn.Linear(8, 2))])
def test_the_size_of_a_pass_is_a_power_of_two_between_its_bounds(network: nn.Module) -> None:
    sizes = [rows_of_a_pass(network, expected) for expected in (0.3, *range(1, 300), 1e6)]
    assert (min(sizes), max(sizes)) == (FEWEST_ROWS, PASS_ROWS)
    assert sizes == sorted(sizes)
    assert all(size & (size - 1) == 0 for size in sizes)


def test_passes_are_large_where_each_weight_is_taken_up_for_one_product_a_row() -> None:
    """Whether weights are trained makes no difference to what a pass costs."""
    dense, mixed = nn.Linear(4, 2), nn.Sequential(nn.Conv2d(1, 2, 3).requires_grad_(False), nn.Linear(8, 2))
    assert [rows_of_a_pass(network, 256.0) for network in (dense, mixed)] == [PASS_ROWS, 32]


@pytest.mark.parametrize("stride", [1, 4, 16])
def test_a_unit_less_moves_others_by_whole_strides_and_every_unit_counts_once(stride: int) -> None:
    def places_of(units: Tensor) -> dict[int, int]:
        passes = list(equal_passes(Rows(units[:, None].float(), units), 32, units=units, stride=stride))
        assert {len(part.labels) for part, _ in passes} == {32}
        labels, counted = (torch.cat(parts) for parts in zip(*((p.labels, c) for p, c in passes), strict=True))
        assert sorted(labels[counted].tolist()) == units.tolist()
        return {int(labels[place]): int(place) for place in torch.nonzero(counted).flatten()}

    units = torch.tensor([0, 1, 2, 5, 9, 13, 16, 17, 32, 33, 34, 47, 61, 62, 63, 64, 80, 99])
    everybody = places_of(units)
    for gone in units.tolist():
        for unit, place in places_of(units[units != gone]).items():
            assert (everybody[unit] - place) % stride == 0
