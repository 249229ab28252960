"""The canary among the units."""

import torch

from siloseal.experiments.attacks.softmax_learner import softmax_learner
from siloseal.privacy_audit.known_randomness import KnownRandomness
from siloseal.privacy_audit.units import OTHERS, CanaryUnits, with_canary
from siloseal.silo.data.examples import Examples


def examples() -> Examples:
    """Ten examples of which number 4 is the longest, and so has the longest gradient."""
    inputs = torch.rand(10, 6, generator=torch.Generator().manual_seed(3))
    inputs[4] += 5
    return Examples(inputs, torch.arange(10) % 3, 3)


def test_the_unit_of_longest_gradient_is_the_canary_and_the_last_unit() -> None:
    source = examples()
    units, norm = with_canary(softmax_learner(source), source, KnownRandomness())
    assert len(units) == OTHERS + 1
    assert torch.equal(units.select(torch.tensor([units.canary])).inputs, source.inputs[4:5])
    assert norm > 5


def test_the_units_are_a_power_of_two_so_that_sums_keep_their_last_bits() -> None:
    source = examples()
    for count, expected in ((1, 1), (3, 2), (6, OTHERS + 1)):
        few = Examples(source.inputs[:count], source.labels[:count], 3)
        units, _ = with_canary(softmax_learner(source), few, KnownRandomness())
        assert len(units) == expected


def test_an_absent_canary_is_in_no_batch() -> None:
    units = CanaryUnits(examples(), torch.tensor([0, 1, 2, 4]))
    drawn = torch.tensor([1, 3])
    assert len(units.select(drawn)) == 2
    assert (units.met, units.others) == (True, (1,))
    units.present = False
    assert len(units.select(drawn)) == 1
    assert (units.met, units.others) == (False, (1,))
    units.present = True
    assert len(units.select(torch.tensor([], dtype=torch.int64))) == 0
    assert not units.met
