"""Scores of generated images, and the same scores for real ones.

The Fréchet distance here is not the FID of the literature: its features are those of a small convolutional classifier
that is trained once, with a fixed seed, on the evaluator's own real reference images. Distances compare only between
sets that one evaluator, or two with the same reference and number of samples, scored.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from siloseal.federation.errors import DataError
from siloseal.models.evaluation.classifiers import ClassifierName, downstream_accuracy, train
from siloseal.models.evaluation.frechet import fit_gaussian, frechet_distance

FEATURE_SEED = 0


@dataclass(frozen=True, slots=True)
class Quality:
    """Downstream accuracy by classifier, and the squared Fréchet distance to held-out real images."""

    accuracy: dict[ClassifierName, float]
    frechet: float


class Evaluator:
    """Measures image sets against real data: `reference` to compare with, `held_out` to test on.

    Images are float32 (N, C, H, W) in [0, 1], labels int64 (N,). At most `samples` images of a set are used, drawn by
    `seed`; the rest of a larger set is left out, so that real and generated sets are scored on equal terms.
    """

    def __init__(
        self, reference: tuple[Tensor, Tensor], held_out: tuple[Tensor, Tensor],
        *, classes: int, classifiers: Sequence[ClassifierName], samples: int, seed: int,
    ) -> None:  # fmt: skip
        if samples < 2:
            raise DataError(f"found samples = {samples}; an evaluation needs at least 2")
        self._classes = classes
        self._shape = reference[0].shape[1:]
        self._classifiers, self._samples, self._seed = tuple(classifiers), samples, seed
        self._check("reference", *reference)
        self._check("held-out", *held_out)
        self._reference, self._held_out = reference, held_out
        # The seed of the subset is fixed as well: the yardstick does not depend on the evaluator's seed.
        images, labels = draw(*reference, samples, FEATURE_SEED)
        self._yardstick = train("cnn", images, labels, classes=self._classes, seed=FEATURE_SEED)
        self._real = fit_gaussian(self._features(draw(*held_out, samples, FEATURE_SEED)[0]))

    def real(self) -> Quality:
        """What the reference images themselves score: the number to read every other one against."""
        return self.score(*self._reference)

    def score(self, images: Tensor, labels: Tensor, *, headline_only: bool = False) -> Quality:
        """Train on these images only, test on the held-out ones; with `headline_only`, just the first classifier."""
        self._check("scored", images, labels)
        images, labels = draw(images, labels, self._samples, self._seed)
        accuracy = {
            name: downstream_accuracy(name, images, labels, *self._held_out, classes=self._classes, seed=self._seed)
            for name in (self._classifiers[:1] if headline_only else self._classifiers)
        }
        return Quality(accuracy, frechet_distance(fit_gaussian(self._features(images)), self._real))

    def _features(self, images: Tensor) -> Tensor:
        with torch.no_grad():
            return torch.cat([self._yardstick.features(chunk) for chunk in torch.split(images, 1000)])

    def _check(self, what: str, images: Tensor, labels: Tensor) -> None:
        if images.dtype != torch.float32 or labels.dtype != torch.int64:
            raise DataError(f"found {what} images {images.dtype}, labels {labels.dtype}; expected float32 and int64")
        if images.shape[1:] != self._shape or labels.shape != images.shape[:1] or len(images) < 2:
            raise DataError(
                f"found {what} images {tuple(images.shape)}, labels {tuple(labels.shape)}; "
                f"expected (N, {', '.join(map(str, self._shape))}) and (N,), with N of 2 or more"
            )
        if not bool(torch.isfinite(images).all()) or images.min() < 0 or images.max() > 1:
            raise DataError(f"{what} images leave [0, 1] or are not finite; scale them before they are scored")
        if labels.min() < 0 or labels.max() >= self._classes:
            raise DataError(f"found {what} labels up to {int(labels.max())}; expected 0 to {self._classes - 1}")


def draw(images: Tensor, labels: Tensor, samples: int, seed: int) -> tuple[Tensor, Tensor]:
    """Draw `samples` pairs without replacement, or all where there are fewer."""
    if len(images) <= samples:
        return images, labels
    kept = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))[:samples]
    return images[kept], labels[kept]
