"""Learners of a user's own that keep every promise, as short as they can be."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import siloseal


class Regression(siloseal.ModuleLearner[nn.Module]):
    """Measured targets in [0, 1]."""

    def __init__(self, shape: tuple[int, ...], classes: int, options: Mapping[str, Any]) -> None:
        inputs = math.prod(shape)
        network = nn.Sequential(nn.Flatten(), nn.Linear(inputs, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 1))
        super().__init__(network, average_decay=options.get("average_decay", 0.0))

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        return (self.private_module(rows.inputs).squeeze(1) - rows.labels).square()

    def measure(self, rows: siloseal.LabelledRows) -> float:
        error = (self.shared_model.eval()(rows.inputs).squeeze(1) - rows.labels).square().mean()
        return 1 - min(1.0, float(error))


class Segmentation(siloseal.ModuleLearner[nn.Module]):
    """A class for each pixel: labels are masks."""

    def __init__(self, shape: tuple[int, ...], classes: int, options: Mapping[str, Any]) -> None:
        convolutions = nn.Conv2d(shape[0], 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, classes, 3, padding=1)
        super().__init__(nn.Sequential(*convolutions))

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        maps = self.private_module(rows.inputs)  # (rows, classes, H, W)
        return functional.cross_entropy(maps, rows.labels, reduction="none").flatten(1).mean(1)


class Autoencoder(siloseal.ModuleLearner[nn.Module]):
    """A variational autoencoder: what is drawn for a row is part of its loss."""

    def __init__(self, shape: tuple[int, ...], classes: int, options: Mapping[str, Any]) -> None:
        self.pixels, self.latent = math.prod(shape), 3
        parts = {"encoder": nn.Linear(self.pixels, 2 * self.latent), "decoder": nn.Linear(self.latent, self.pixels)}
        super().__init__(nn.ModuleDict(parts))

    def losses(self, rows: siloseal.LabelledRows) -> Tensor:
        network, pixels = self.private_module, rows.inputs.flatten(1)
        mean, log_variance = network["encoder"](pixels).chunk(2, dim=1)  # type: ignore[index]
        code = mean + torch.randn(len(pixels), self.latent, device=pixels.device) * (log_variance / 2).exp()
        drawn = network["decoder"](code)  # type: ignore[index]
        divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum(1) / 2
        return (drawn - pixels).square().sum(1) + divergence

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        return self.losses(rows)


class TinyGan:
    """A discriminator that sees data, and a generator, which is shared and sees the discriminator alone."""

    LATENT = 4

    def __init__(self, shape: tuple[int, ...], classes: int, options: Mapping[str, Any]) -> None:
        pixels = math.prod(shape)
        self.generator = nn.Sequential(nn.Linear(self.LATENT, pixels), nn.Sigmoid())
        self.discriminator = nn.Sequential(nn.Linear(pixels, 8), nn.ReLU(), nn.Linear(8, 1))
        self.optimizer = torch.optim.SGD(self.generator.parameters(), lr=0.1)

    @property
    def private_module(self) -> nn.Module:
        return self.discriminator

    @property
    def shared_model(self) -> nn.Module:
        return self.generator

    def to(self, device: torch.device) -> None:
        for network in (self.generator, self.discriminator):
            network.to(device)

    @property
    def device(self) -> torch.device:
        return next(self.generator.parameters()).device

    def fakes(self, count: int) -> Tensor:
        made: Tensor = self.generator(torch.randn(count, self.LATENT, device=self.device))
        return made

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        fakes = self.fakes(len(rows.inputs)).detach()  # one a row, a part of that row's loss
        real = functional.softplus(-self.discriminator(rows.inputs.flatten(1)))
        return (real + functional.softplus(self.discriminator(fakes))).squeeze(1)

    def public_step(self) -> None:
        loss = functional.softplus(-self.discriminator(self.fakes(6))).mean()
        self.optimizer.zero_grad()
        loss.backward(inputs=list(self.generator.parameters()))
        self.optimizer.step()

    def public_metrics(self) -> Mapping[str, float]:
        return {"generator norm": float(self.vector().norm())}

    def vector(self) -> Tensor:
        return parameters_to_vector(self.generator.parameters()).detach().cpu()

    def load(self, vector: Tensor) -> None:
        if vector.shape != self.vector().shape or not vector.isfinite().all():
            raise ValueError("not a vector of this generator")
        vector_to_parameters(vector.clone().to(self.device), self.generator.parameters())

    def state(self) -> dict[str, Tensor]:
        both = {"generator": self.generator, "discriminator": self.discriminator}
        tensors = {f"{name}.{key}": tensor for name, net in both.items() for key, tensor in net.state_dict().items()}
        return {name: tensor.clone().cpu() for name, tensor in tensors.items()}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        if state.keys() != self.state().keys():
            raise ValueError("the state of another learner")
        for name, network in (("generator", self.generator), ("discriminator", self.discriminator)):
            network.load_state_dict({key: state[f"{name}.{key}"] for key in network.state_dict()})
