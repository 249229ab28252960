"""Comparing by class means, and the features under it."""

import pytest
import torch

from siloseal.federation.job.sections.few_shot import EmbeddingConfig, ProtonetConfig
from siloseal.models.meta.network import GRID, Conv4, WaveletBody, WaveletConvBody
from siloseal.models.meta.prototypes import EmbeddingModel, ProtonetModel
from siloseal.models.meta.wavelets import Wavelets

BODIES = (Conv4((3, 16, 16), 8), WaveletBody((3, 16, 16)), WaveletConvBody((3, 16, 16), 8))
LABELS = torch.tensor([0, 0, 1])
SUPPORT = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0]])


def protonet() -> ProtonetModel:
    return ProtonetModel(ProtonetConfig(kind="protonet", filters=4), (1, 8, 8))


def embedding() -> EmbeddingModel:
    return EmbeddingModel(EmbeddingConfig(kind="embedding", network="wavelets"), (1, 28, 28))


class TestComparing:
    def test_scores_are_minus_squared_distances_to_class_means(self) -> None:
        assert protonet().compare(SUPPORT, LABELS, torch.tensor([[1.0, 1.0]])).tolist() == [[-1.0, -10.0]]

    def test_an_embedding_is_compared_by_direction_from_the_tasks_middle(self) -> None:
        model, query = embedding(), torch.tensor([[1.0, 1.0], [0.5, 3.0]])
        scores = model.compare(SUPPORT, LABELS, query)
        moved = model.compare(3 * SUPPORT + 7, LABELS, 3 * query + 7)
        assert torch.allclose(scores, moved, atol=1e-6)
        assert not torch.allclose(scores, protonet().compare(SUPPORT, LABELS, query))

    @pytest.mark.parametrize("model", [protonet(), embedding()], ids=["protonet", "embedding"])
    def test_an_image_is_named_the_same_whatever_else_is_asked(self, model: ProtonetModel) -> None:
        images = torch.rand(6, *model.shape)
        together = model.classify(images[:3], LABELS, images[3:])
        alone = torch.cat([model.classify(images[:3], LABELS, images[n : n + 1]) for n in (3, 4, 5)])
        assert torch.allclose(together, alone, atol=1e-5)


class TestNetworks:
    @pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (3, 84, 84), (1, 8, 8), (1, 1, 5)])
    def test_features_have_the_length_that_is_said(self, shape: tuple[int, int, int]) -> None:
        images = torch.rand(2, *shape)
        for body in (Conv4(shape, 8), WaveletBody(shape), WaveletConvBody(shape, 8)):
            assert body(images).shape == (2, body.features)
            assert body(images).isfinite().all()

    @pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
    def test_an_image_has_the_same_features_in_every_batch(self, body: torch.nn.Module) -> None:
        images = torch.rand(5, 3, 16, 16)
        assert torch.allclose(body(images)[2:3], body(images[2:3]), atol=1e-6)

    @pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
    def test_nothing_but_parameters_is_kept_of_data(self, body: torch.nn.Module) -> None:
        before = {name: value.clone() for name, value in body.state_dict().items()}
        body(torch.rand(5, 3, 16, 16))
        assert not list(body.buffers())
        assert all(torch.equal(before[name], value) for name, value in body.state_dict().items())


class TestWavelets:
    def test_plain_light_has_no_wavelets(self) -> None:
        maps = Wavelets((1, 32, 32), GRID)(torch.full((1, 1, 32, 32), 0.7))
        assert maps[:, 1:].max() < 2e-3  # the square root of the stabiliser's
        assert maps[:, 0].tolist() == [[[pytest.approx(0.35)] * GRID] * GRID]

    def test_an_orientation_answers_to_its_own_stripes(self) -> None:
        upright = torch.sin(torch.arange(32.0) * 0.75 * torch.pi / 2).expand(1, 1, 32, 32) / 2 + 0.5
        wavelets = Wavelets((1, 32, 32), GRID)
        answers = {name: wavelets(image)[0, 5:9].mean((1, 2)) for name, image in
                   {"upright": upright, "lying": upright.mT}.items()}  # fmt: skip
        assert int(answers["upright"].argmax()) == 0  # the second scale's four orientations
        assert int(answers["lying"].argmax()) == 2
