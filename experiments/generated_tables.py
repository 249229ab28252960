"""How much generated records of a table teach, at each epsilon: the kernel mean on encoded records.

    python -m siloseal.experiments.generated_tables configs/table-classifier.yaml patients configs/digits.yaml

A record is seen as an image of one line, so features, generator and fit are those of images, unchanged; a category is
the likeliest of its values. Windows then see neighbours in the order of the job. `--features subsets` looks at small
random sets of columns instead. The sum over silos is exact, so one sum over all records stands for it. Its noise is
that of one release under a trusted or a distributed mechanism; where each silo adds its own, there is more.
"""

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from siloseal.experiments.drawn_patients import DECLARED, draw_patients
from siloseal.experiments.table_likeness import Likeness, likeness
from siloseal.federation.config.loading import load_config
from siloseal.federation.errors import SiloSealError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.columns import Column, NumberColumn
from siloseal.federation.privacy.mechanisms.calibration import Demand, gaussian_multiplier
from siloseal.models.gan.generators import MlpGenerator
from siloseal.models.gan.sampling import generate
from siloseal.models.initial_weights import seeded
from siloseal.models.kernel_mean import FeatureMap, fit_generator
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.loading import load
from siloseal.silo.data.records import encode
from siloseal.silo.data.splitting import split_examples

Features = Literal["windows", "subsets"]
FEATURES: tuple[Features, ...] = ("windows", "subsets")

EPSILONS = (1.0, 3.0, 8.0, None)
SEEDS = (0, 1, 2)
PATIENTS, HELD_OUT = 16_000, 0.25
FREQUENCIES, LATENT, BATCH, LEARNING_RATE = 500, 16, 200, 1e-2
GENERATED = 4000
SUBSET_SIZES = (1, 2, 3)
SUBSET_FREQUENCY = 3.0  # two records differ by about 1/3 in a number, which turns the phase by about 1


@dataclass(frozen=True)
class Study:
    """Records to imitate, and records to test on."""

    name: str
    train: Examples  # (N, inputs), in [0, 1]
    held_out: Examples
    widths: tuple[int, ...]
    """Number of inputs that go together: 1 for a number, one a value for a category."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """A record as an image of one line."""
        return (1, 1, sum(self.widths))

    @property
    def length_scale(self) -> float:
        """A third of two records' usual distance by the declaration alone: 1/3 in a number, 1 in a category."""
        return math.sqrt(sum(0.1 if width == 1 else 1.0 for width in self.widths)) / 3

    @property
    def delta(self) -> float:
        """A power of ten, a tenth of 1 / records at most."""
        return 10.0 ** -math.ceil(math.log10(10 * len(self.train)))


@dataclass(frozen=True)
class SubsetFeatures(FeatureMap):
    """Features of which half look at the whole record, and half at one, two or three columns."""

    widths: tuple[int, ...]

    @cached_property
    def frequency_matrix(self) -> Tensor:  # (frequencies, inputs)
        public = torch.Generator().manual_seed(self.seed)
        waves = torch.randn(self.frequencies, math.prod(self.shape), generator=public)
        whole, few = waves[: self.frequencies // 2], waves[self.frequencies // 2 :]
        sizes = torch.tensor(SUBSET_SIZES)[torch.randint(len(SUBSET_SIZES), (len(few), 1), generator=public)]
        places = torch.rand(len(few), len(self.widths), generator=public).argsort(1)
        seen = (places < sizes).repeat_interleave(torch.tensor(self.widths), dim=1)  # (few, inputs)
        return torch.cat([whole / self.length_scale, few * seen * SUBSET_FREQUENCY])


def study_of(name: str) -> Study:
    """The drawn patients, or the data of the job in this file."""
    if name == "patients":
        train, held_out = split_examples(encode(draw_patients(PATIENTS, seed=0), DECLARED), HELD_OUT)
        return Study(name, train, held_out, widths_of(DECLARED.columns))
    source = load_config(Job, Path(name)).data
    train, held_out = (Examples(part.inputs.flatten(1), part.labels, part.classes) for part in load(source))
    widths = widths_of(source.declared.columns) if source.declared else (1,) * train.shape[0]
    return Study(Path(name).stem, train, held_out, widths)


def widths_of(columns: tuple[Column, ...]) -> tuple[int, ...]:
    """The inputs that go together: all of a category's; each by itself of a number, which may have an indicator."""
    grouped = ((1,) * column.inputs if isinstance(column, NumberColumn) else (column.inputs,) for column in columns)
    return tuple(chain.from_iterable(grouped))


def generated(study: Study, features: Features, epsilon: float | None, *, seed: int, steps: int) -> Examples:
    """Records of a generator that was fitted to one noisy sum; without noise where epsilon is None."""
    classes, line = study.train.classes, study.train.inputs.view(-1, *study.shape)
    given = (study.shape, classes, FREQUENCIES, study.length_scale, seed)
    mapped = FeatureMap(*given) if features == "windows" else SubsetFeatures(*given, study.widths)
    total = mapped.labelled_sum(line, study.train.labels)
    if epsilon is not None:
        demand = Demand(epsilon=epsilon, delta=study.delta, releases=1, silos=1, honest=1, length=mapped.length)
        random = torch.Generator().manual_seed(seed)
        total += gaussian_multiplier(demand) * torch.randn(total.shape, generator=random, dtype=total.dtype)
    generator = seeded(seed, lambda: MlpGenerator(shape=study.shape, classes=classes, latent=LATENT))
    fit_generator(generator, mapped, total, steps=steps, batch=BATCH, learning_rate=LEARNING_RATE, seed=seed)
    counts = total.view(classes, -1)[:, -1].clamp(min=0)  # as noisy as the rest, and so as private
    rows = (GENERATED * counts / counts.sum()).round().long().clamp(min=2)
    drawn = generate(generator, torch.arange(classes).repeat_interleave(rows), seed=seed)
    return Examples(as_records(drawn.images.flatten(1), study.widths), drawn.labels, classes)


def as_records(soft: Tensor, widths: tuple[int, ...]) -> Tensor:
    """Records (rows, inputs) with one value in each category, the likeliest."""
    parts = torch.split(soft, list(widths), dim=1)
    hard = [part if part.shape[1] == 1 else F.one_hot(part.argmax(1), part.shape[1]).float() for part in parts]
    return torch.cat(hard, dim=1)


def rows(study: Study, features: Features, *, steps: int) -> Iterator[tuple[str, list[Likeness]]]:
    """What each kind of records is worth, for every seed: real ones first."""
    train, held_out = study.train, study.held_out
    yield "real", [likeness(train, train=train, held_out=held_out)]
    for epsilon in EPSILONS:
        drawn = (generated(study, features, epsilon, seed=seed, steps=steps) for seed in SEEDS)
        yield _said(epsilon), [likeness(records, train=train, held_out=held_out) for records in drawn]


def _said(epsilon: float | None) -> str:
    return "no noise" if epsilon is None else f"epsilon {epsilon:g}"


def main() -> None:
    """Print a table for each set of records."""
    parser = argparse.ArgumentParser(description="How much generated records of a table teach, at each epsilon.")
    parser.add_argument("tables", nargs="+", help="`patients`, which are drawn, or the path of a job")
    parser.add_argument("--features", choices=FEATURES, default="windows", help="what half of the frequencies look at")
    parser.add_argument("--steps", type=int, default=2000, help="steps of a fit")
    asked = parser.parse_args()
    for study in map(study_of, asked.tables):
        chance = study.held_out.labels.bincount().max().item() / len(study.held_out)
        other = likeness(study.held_out, train=study.train, held_out=study.held_out)
        print(f"{study.name}: {len(study.train)} records, delta {study.delta:g}, the largest class is {chance:.3f};")
        print(f"held-out real records: marginals {other.marginals:.3f}, correlations {other.correlations:.3f}")
        print(f"| records | {' | '.join(field.name for field in fields(Likeness))} |")
        for name, found in rows(study, asked.features, steps=asked.steps):
            table = np.array([astuple(one) for one in found])  # (seeds, measures)
            cells = (f"{mean:.3f} ± {spread:.3f}" for mean, spread in zip(table.mean(0), table.std(0), strict=True))
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    try:
        main()
    except SiloSealError as error:
        sys.exit(f"error: {error}")
