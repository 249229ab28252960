"""A conditional GAN as a learner: the discriminator sees data, the generator sees the discriminator."""

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.federation.randomness import Randomness
from siloseal.models.checkpoints import State, part_of, require_same_shapes, under
from siloseal.models.gan.controller import Controller
from siloseal.models.gan.generator_optimizer import GeneratorOptimizer
from siloseal.models.gan.generators import Generator
from siloseal.models.learner import LabelledRows, Rows
from siloseal.models.running_average import RunningAverage
from siloseal.models.vectors import flatten, load_flat

Shared = Literal["generator", "both"]


class GanLearner:
    """Generator, its running average, and discriminator.

    What is shared is the averaged generator, which is steadier than the generator itself; federated averaging shares
    the discriminator too. Fakes carry labels drawn uniformly from `labels`, the silo's DECLARED set: the true
    frequencies are private.
    """

    def __init__(
        self,
        config: GanConfig,
        generator: Generator,
        discriminator: nn.Module,
        *,
        labels: Sequence[int],
        expected_batch: float,
        randomness: Randomness,
        shared: Shared,
    ) -> None:
        if not labels or not set(labels) <= set(range(generator.classes)):
            raise DataError(
                f"declared labels are {sorted(set(labels))}, expected some of 0 to {generator.classes - 1}; "
                "correct them or the number of classes"
            )
        self._config, self._generator, self._discriminator = config, generator, discriminator
        self._running = RunningAverage(generator, config.average_decay)
        self._average = self._running.network
        self._networks: dict[str, nn.Module] = {
            "generator": generator,
            "discriminator": discriminator,
        }
        self._shared = (self._average,) if shared == "generator" else (self._average, discriminator)
        self._labels = torch.tensor(sorted(set(labels)))
        self._device = torch.device("cpu")
        self._fakes = max(1, round(expected_batch))  # as many as real rows are expected, never as many as there are
        self._controller = Controller(config)
        self._optimizer = GeneratorOptimizer(config, generator)
        # Fakes are public and have a stream of their own: how many real rows a batch has must not shift it. What
        # touches real rows comes from the silo's randomness, which nobody can predict.
        self._randomness = randomness
        self._fake_stream = torch.Generator().manual_seed(int.from_bytes(randomness.bits(8)))

    def to(self, device: torch.device) -> None:
        """Move all three networks to a device. The streams of random numbers stay where they give the same numbers."""
        for network in (*self._networks.values(), self._average):
            network.to(device)
        self._device = device
        self._optimizer.restart()

    @property
    def private_module(self) -> nn.Module:
        """The discriminator."""
        return self._discriminator

    def row_losses(self, rows: LabelledRows) -> Tensor:
        """Cross entropy of "real" for the units' rows, then of "fake" for the fakes' rows."""
        with torch.no_grad():
            fakes, fake_labels = self._make_fakes()
        images = torch.cat([self._blur_real(rows.inputs), self._blur_fakes(fakes)])
        logits: Tensor = self._discriminator(images, torch.cat([rows.labels, fake_labels]))  # (rows + fakes,)
        real, fake = logits[: len(rows.labels)], logits[len(rows.labels) :]
        self._saw_fakes(fake)
        return torch.cat([functional.softplus(-real), functional.softplus(fake)])

    def blurred(self, units: LabelledRows) -> Rows:
        """The units' rows with instance noise."""
        return Rows(self._blur_real(units.inputs), units.labels)

    def unit_losses(self, units: LabelledRows) -> Tensor:
        """Cross entropy of "real" for the units' rows alone, as they are."""
        logits: Tensor = self._discriminator(units.inputs, units.labels)
        return functional.softplus(-logits)

    def fakes(self) -> Rows:
        """The fakes of one step, with instance noise."""
        with torch.no_grad():
            images, labels = self._make_fakes()
        return Rows(self._blur_fakes(images), labels)

    def fake_losses(self, fakes: LabelledRows) -> Tensor:
        """Cross entropy of "fake" for all fakes of one step."""
        logits: Tensor = self._discriminator(fakes.inputs, fakes.labels)
        self._saw_fakes(logits)
        return functional.softplus(logits)

    def public_step(self) -> None:
        """Take the generator's step, if it is its turn: non-saturating loss on fresh fakes."""
        if not self._controller.generator_may_step():
            return
        fakes, labels = self._make_fakes()
        logits = self._discriminator(self._blur_fakes(fakes), labels)
        self._optimizer.step(functional.softplus(-logits).mean())
        self._running.follow()

    @property
    def shared_model(self) -> Generator:
        """The averaged generator."""
        return self._average

    def public_metrics(self) -> Mapping[str, float]:
        """The controller's view: fakes are made without data, and the discriminator is private by its noise."""
        return {"accuracy_on_fakes": self._controller.accuracy, "generator_steps": float(self._optimizer.steps)}

    def vector(self) -> Tensor:
        """The shared networks, flat."""
        return flatten(self._shared)

    def load(self, vector: Tensor) -> None:
        """Take over the shared networks. The generator and its average restart from there, with fresh moments."""
        load_flat(self._shared, vector)
        self._running.restart()
        self._optimizer.restart()

    def state(self) -> State:
        """All three networks, the generator's optimizer, the controller, and where the stream of fakes is."""
        parts = {name: network.state_dict() for name, network in self._networks.items()}
        parts |= {"generator_optimizer": self._optimizer.state(), "controller": self._controller.state()}
        parts |= {"average": self._running.state(), "fakes": {"stream": self._fake_stream.get_state()}}
        return {name: tensor for part, state in parts.items() for name, tensor in under(part, state).items()}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """The inverse of `state`."""
        require_same_shapes(state, self.state())
        for name, network in self._networks.items():
            network.load_state_dict(part_of(name, state))
        self._optimizer.load_state(part_of("generator_optimizer", state))
        self._running.load_state(part_of("average", state))
        self._controller.load_state(part_of("controller", state))
        self._fake_stream.set_state(state["fakes.stream"])

    def _make_fakes(self) -> tuple[Tensor, Tensor]:
        picks = torch.randint(len(self._labels), (self._fakes,), generator=self._fake_stream)
        latents = torch.randn(self._fakes, self._generator.latent, generator=self._fake_stream)
        labels = self._labels[picks].to(self._device)
        return self._generator(latents.to(self._device), labels), labels

    def _saw_fakes(self, logits: Tensor) -> None:
        self._controller.saw_fakes(recognised=float((logits.detach() < 0).float().mean()))

    def _blur_real(self, images: Tensor) -> Tensor:
        """Add instance noise: the two distributions keep overlapping, so that the discriminator stays informative."""
        noise = torch.from_numpy(self._randomness.normals(images.numel())).view(images.shape)
        return images + self._config.instance_noise * noise.to(images.device)

    def _blur_fakes(self, images: Tensor) -> Tensor:
        noise = torch.randn(images.shape, generator=self._fake_stream)
        return images + self._config.instance_noise * noise.to(images.device)
