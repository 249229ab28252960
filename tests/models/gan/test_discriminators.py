"""Discriminators are sized by the image, and every one of them can be clipped."""

import pytest
import torch
from torch import nn

from siloseal.federation.job.sections.gan import Architecture, GanConfig
from siloseal.models.gan.building import build_discriminator, build_generator
from siloseal.models.gan.discriminators import ConvDiscriminator, MlpDiscriminator
from siloseal.silo.training.clipping.parts import parts_of

SHAPES = [(1, 8, 8), (1, 14, 14), (1, 28, 28), (3, 32, 32), (3, 17, 12), (1, 4, 4), (3, 84, 84)]


@pytest.mark.parametrize("network", [MlpDiscriminator, ConvDiscriminator])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_shape_gets_one_logit_a_row_and_can_be_clipped(
    network: type[MlpDiscriminator] | type[ConvDiscriminator], shape: tuple[int, int, int]
) -> None:
    discriminator = network(shape, 5)
    assert discriminator(torch.rand(2, *shape), torch.tensor([0, 4])).shape == (2,)
    assert {part.kind for part in parts_of(discriminator).values()} <= {"linear", "convolution"}


@pytest.mark.parametrize("network", [MlpDiscriminator, ConvDiscriminator])
def test_the_label_matters(network: type[MlpDiscriminator] | type[ConvDiscriminator]) -> None:
    image = torch.rand(1, 1, 28, 28).expand(2, -1, -1, -1)
    one, other = network((1, 28, 28), 5)(image, torch.tensor([0, 1]))
    assert one != other


def test_their_sizes_are_the_documented_ones() -> None:
    def size(network: nn.Module) -> int:
        return sum(parameter.numel() for parameter in network.parameters())

    assert size(MlpDiscriminator((1, 28, 28), 10)) == 236_545
    assert size(MlpDiscriminator((1, 8, 8), 10)) == 17_921
    assert size(ConvDiscriminator((1, 28, 28), 10)) == 432_193


@pytest.mark.parametrize(
    ("architecture", "side", "kind"),
    [
        ("auto", 15, MlpDiscriminator),
        ("auto", 16, ConvDiscriminator),
        ("mlp", 28, MlpDiscriminator),
        ("conv", 8, ConvDiscriminator),
    ],
)
def test_auto_chooses_by_the_images_side(architecture: Architecture, side: int, kind: type[nn.Module]) -> None:
    config = GanConfig(discriminator=architecture)
    assert type(build_discriminator(config, (1, side, side), 10, seed=0)) is kind


def test_weights_are_a_function_of_the_seed_and_leave_the_process_generator_alone() -> None:
    before = torch.random.get_rng_state()
    config, shape = GanConfig(), (1, 8, 8)
    one, same, other = (build_generator(config, shape, 3, seed=seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)
    assert torch.equal(torch.random.get_rng_state(), before)
