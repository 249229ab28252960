"""No graphics processor is here. Torch's meta device has shapes and no numbers, and refuses to mix with another one:
a tensor that training forgets to move is noticed, whatever the device.

Not run: `cuda` and `mps` themselves, so neither what they compute, nor operations that one of them lacks, nor their
memory and speed; and learners of tasks, whose gradients are copied to the processor, which meta tensors cannot be.
"""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.federation.job.sections.optimizers import DpAdamConfig
from siloseal.federation.privacy.events import Event
from siloseal.federation.randomness import SeededRandomness
from siloseal.models.classifier.learner import ClassifierLearner
from siloseal.models.classifier.networks import built_in
from siloseal.models.gan.building import build_gan
from siloseal.models.learner import ExampleLearner
from siloseal.silo.data.examples import Examples
from siloseal.silo.training.device import CPU, training_device
from siloseal.silo.training.trainer import Privacy, PrivateTrainer
from tests.silo.training.clipping.networks import Borrowed

META = torch.device("meta")
SHAPE = (1, 8, 8)


class Free:
    def charge(self, event: Event, *, phase: str) -> None: ...


def learners() -> dict[str, ExampleLearner]:
    gan = build_gan(GanConfig(), SHAPE, 3, labels=range(3), expected_batch=8, seed=0, randomness=SeededRandomness(0))
    return {
        "mlp": ClassifierLearner(built_in("mlp", SHAPE, 3), average_decay=0.9),
        "cnn": ClassifierLearner(built_in("cnn", SHAPE, 3)),
        "resnet": ClassifierLearner(built_in("resnet", SHAPE, 3)),
        "scattering": ClassifierLearner(built_in("scattering", SHAPE, 3)),
        "attention": ClassifierLearner(Attention(3)),
        "row by row": ClassifierLearner(nn.Sequential(nn.Flatten(), nn.Linear(64, 4), Borrowed())),
        "gan": gan,
    }


class Attention(nn.Module):
    """A network that attends over the eight lines of an image."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.attention, self.norm = nn.MultiheadAttention(8, 2, batch_first=True), nn.LayerNorm(8)
        self.head = nn.Linear(8, classes)

    def forward(self, images: Tensor) -> Tensor:
        lines = images.squeeze(1)  # (rows, 8, 8)
        attended, _ = self.attention(lines, lines, lines)
        logits: Tensor = self.head(self.norm(lines + attended).mean(1))
        return logits


@pytest.fixture
def undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where training looks at a number, a meta tensor has none: every question is answered by yes."""
    look, number, array = Tensor.__bool__, Tensor.__float__, Tensor.numpy

    def copied(found: Tensor, *, force: bool = False) -> np.ndarray:
        """What is noised is copied to the processor, as from any other device."""
        return np.zeros(found.shape, dtype=np.float32) if found.is_meta and force else array(found, force=force)

    monkeypatch.setattr(Tensor, "numpy", copied)
    monkeypatch.setattr(Tensor, "__bool__", lambda found: True if found.is_meta else look(found))
    monkeypatch.setattr(Tensor, "__float__", lambda found: 1.0 if found.is_meta else number(found))


def trainer(learner: ExampleLearner, device: torch.device) -> PrivateTrainer:
    rows = torch.Generator().manual_seed(1)
    data = Examples(torch.rand(16, *SHAPE, generator=rows), torch.arange(16) % 3, 3)
    return PrivateTrainer(
        learner,
        data,
        sampling_rate=0.5,
        optimizer=DpAdamConfig(proximal=0.1),
        privacy=Privacy(1.0, 1.0, Free()),
        randomness=SeededRandomness(2),
        device=device,
    )


@pytest.mark.usefixtures("undecided")
@pytest.mark.parametrize("name", ["mlp", "cnn", "resnet", "scattering", "attention", "row by row", "gan"])
def test_a_private_step_leaves_nothing_behind_on_another_device(name: str) -> None:
    learner = learners()[name]
    trainer(learner, META).train(2, phase="phase_1")
    for network in (learner.private_module, learner.shared_model):
        assert {tensor.device for tensor in (*network.parameters(), *network.buffers())} == {META}


def test_a_forgotten_tensor_would_be_noticed() -> None:
    network = nn.Linear(3, 2).to(META)
    with pytest.raises(RuntimeError):
        network(torch.rand(4, 3))


def test_auto_takes_what_is_there_and_what_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert training_device("auto") == CPU
    with pytest.raises(ConfigError):
        training_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert training_device("auto") == training_device("cuda") == torch.device("cuda")
