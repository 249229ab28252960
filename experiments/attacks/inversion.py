"""Gradient inversion: from the gradient of one step back to the image (Zhu, Liu and Han 2019; Geiping et al. 2020).

The victim takes one step of a GAN's discriminator, 794-256-128-1, on one image of its own or a few, and its gradient
goes to the aggregator, as in federated averaging. (Under SiloSeal's two phases the discriminator stays at home, and the
generator that leaves has seen no image: this is what would happen if it did not, and what protects where it does not.)

The attacker knows both networks and the class that each silo declares, and nothing of the images. The step is as much
on fakes as on real rows, so it looks for both: for images whose gradient, together with that of fakes which the known
generator can make, points where the vector that it saw points. Instance noise is off: it would blur the image that is
found, as it blurs the one that is learnt from.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from siloseal.experiments.attacks.protections import Protection, row_clip_norm, seen, silos_of
from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import EmbeddedMnist
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.shapes import image_shape
from siloseal.models.gan.building import build_gan
from siloseal.models.gan.learner import GanLearner
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.loading import load
from siloseal.silo.training.gradients import unit_gradients

GAN = GanConfig(generator="mlp", discriminator="mlp", instance_noise=0.0)
STEP_SIZE = 0.1

Images = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Inversion:
    """What the attacker made of one step, beside what it was made from."""

    protection: Protection
    originals: Images  # (images, 28, 28)
    reconstructions: Images  # (images, 28, 28): for each original the closest that the attacker found
    guess: Images  # (28, 28): the mean of the public digits of the class, which the attacker knows without an attack

    @property
    def psnr(self) -> float:
        """Peak signal to noise ratio in dB, the mean over images; above 20 a digit is seen at once."""
        return _psnr(self.originals, self.reconstructions)

    @property
    def guess_psnr(self) -> float:
        """PSNR of a guess. PSNR measures likeness, not knowledge: what is no closer may still tell something."""
        return _psnr(self.originals, self.guess[None])


def invert(protection: Protection, *, image: int, images: int = 1, seed: int = 0, iterations: int = 150) -> Inversion:
    """Attack one step on this image of embedded MNIST, and on `images - 1` more of its class.

    `seed` sets the networks' weights and where the attack starts. In a sum the other silos hold images that follow, and
    what counts is the closest of all images that were found: who compares with the original favours the attacker.
    """
    private, public = _data()
    silos = [_batch(private, image + number, images) for number in range(silos_of(protection))]
    learners = [_learner(private, batch, seed) for batch in silos]
    steps = [unit_gradients(learner, batch) for learner, batch in zip(learners, silos, strict=True)]
    vector = seen(protection, steps, rows=images)
    attack = _Attack(learners[0], torch.cat([batch.labels for batch in silos]), row_clip_norm(protection), seed)
    found = attack.run(vector, iterations)  # (silos x images, 28, 28)
    originals = silos[0].inputs.squeeze(1)
    nearest = torch.cdist(originals.flatten(1), found.flatten(1)).argmin(1)
    guess = public.inputs[public.labels == silos[0].labels[0]].mean(0).squeeze(0)
    return Inversion(protection, originals.numpy(), found[nearest].numpy(), guess.numpy())


class _Attack:
    """Images and the generator's inputs, moved until their gradient points where the one that was seen does."""

    def __init__(self, learner: GanLearner, labels: Tensor, clip_norm: float | None, seed: int) -> None:
        self._discriminator, self._generator = learner.private_module, learner.shared_model  # as initialised
        self._labels, self._clip_norm = labels, clip_norm
        start = torch.Generator().manual_seed(seed)
        noise = torch.randn(len(labels), *self._generator.shape, generator=start)
        self._images = (0.5 + 0.05 * noise).requires_grad_()
        self._latents = (0.1 * torch.randn(len(labels), self._generator.latent, generator=start)).requires_grad_()

    def run(self, target: Tensor, iterations: int) -> Tensor:
        sought = [self._images, self._latents]
        optimizer = torch.optim.Adam(sought, lr=STEP_SIZE)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, iterations)
        for _ in range(iterations):
            distance = 1 - functional.cosine_similarity(self._gradient(), target, dim=0)
            self._images.grad, self._latents.grad = torch.autograd.grad(distance, sought)
            optimizer.step()
            schedule.step()
            with torch.no_grad():
                self._images.clamp_(0, 1)
        return self._images.detach().squeeze(1)

    def _gradient(self) -> Tensor:
        """Gradient of the discriminator's loss, as the silos compute it, but itself differentiable."""
        fakes = self._generator(self._latents, self._labels)
        real, fake = (self._discriminator(rows, self._labels) for rows in (self._images, fakes))
        losses = torch.cat([functional.softplus(-real), functional.softplus(fake)])
        if self._clip_norm is None:
            return _flat_gradient(losses.sum(), self._discriminator)
        rows = [_flat_gradient(loss, self._discriminator) for loss in losses]
        norms = [row.norm().clamp(min=self._clip_norm) for row in rows]
        return torch.stack([row / norm for row, norm in zip(rows, norms, strict=True)]).sum(0)


def _flat_gradient(loss: Tensor, module: nn.Module) -> Tensor:
    gradients = torch.autograd.grad(loss, list(module.parameters()), create_graph=True)
    return torch.cat([gradient.reshape(-1) for gradient in gradients])


def _psnr(originals: Images, others: Images) -> float:
    errors = np.square(originals - others).mean(axis=(1, 2))
    return float(np.mean([10 * math.log10(1 / max(float(error), 1e-12)) for error in errors]))


@lru_cache(maxsize=1)
def _data() -> tuple[Examples, Examples]:
    """The silos' images, and others that everyone may see."""
    return load(EmbeddedMnist())


def _batch(private: Examples, first: int, images: int) -> Examples:
    """The image and those that follow it in its class: a silo that declares one class."""
    if not 0 <= first < len(private):
        raise DataError(f"image {first} is asked for, expected one of 0 to {len(private) - 1}; take another")
    alike = (private.labels == private.labels[first]).nonzero().squeeze(1)
    place = int((alike == first).nonzero())
    return private.select(alike.roll(-place)[:images])


def _learner(private: Examples, batch: Examples, seed: int) -> GanLearner:
    """Return a silo's learner. All silos' have the same weights; its fakes are its own."""
    return build_gan(
        GAN,
        image_shape(private.shape),
        private.classes,
        labels=sorted(batch.label_set()),
        expected_batch=len(batch),
        seed=seed,
        randomness=SecureRandomness(),
        shared="both",
    )
