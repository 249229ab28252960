import pytest
import torch
from torch import nn

from siloseal.models.gan.generators import ConvGenerator, Generator, MlpGenerator

SHAPES = [(1, 8, 8), (1, 28, 28), (3, 30, 45), (3, 84, 84)]


def every_generator(shape: tuple[int, int, int], latent: int = 16) -> list[Generator]:
    return [kind(shape=shape, classes=10, latent=latent) for kind in (ConvGenerator, MlpGenerator)]


@pytest.mark.parametrize("shape", SHAPES)
class TestEveryGenerator:
    def test_makes_dark_images_of_the_right_shape_at_first(self, shape: tuple[int, int, int]) -> None:
        for generator in every_generator(shape):
            images = generator(torch.randn(6, 16), torch.arange(6)).detach()
            assert images.shape == (6, *shape)
            assert 0 <= float(images.min()) <= float(images.max()) <= 1
            assert float(images.mean()) < 0.25

    def test_says_what_it_makes(self, shape: tuple[int, int, int]) -> None:
        for generator in every_generator(shape, latent=7):
            assert (generator.shape, generator.classes, generator.latent) == (shape, 10, 7)

    def test_listens_to_noise_and_label(self, shape: tuple[int, int, int]) -> None:
        noise = torch.randn(1, 16, generator=torch.Generator().manual_seed(0))
        for generator in every_generator(shape):
            image = generator(noise, torch.tensor([0]))
            assert not torch.equal(image, generator(noise, torch.tensor([1])))
            assert not torch.equal(image, generator(noise + 1, torch.tensor([0])))

    def test_makes_an_image_from_its_own_row_only(self, shape: tuple[int, int, int]) -> None:
        noise, labels = torch.randn(3, 16), torch.arange(3)
        for generator in every_generator(shape):
            assert torch.allclose(generator(noise, labels)[:1], generator(noise[:1], labels[:1]), atol=1e-5)

    def test_is_nothing_but_parameters(self, shape: tuple[int, int, int]) -> None:
        for generator in every_generator(shape):
            assert not list(generator.buffers())
            assert not any(isinstance(layer, nn.modules.batchnorm._BatchNorm) for layer in generator.modules())


def test_the_convolutional_generator_is_small_enough_to_send() -> None:
    sizes = [sum(p.numel() for p in every_generator(shape)[0].parameters()) for shape in SHAPES]
    assert max(sizes) < 500_000
    assert sizes[1] == 219_600
