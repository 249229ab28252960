"""Examples per second of a private step: ours, Opacus's per-sample gradients, and no privacy at all.

    python benchmarks/dp_training.py [--json] [--keep-memory]

Two discriminators, half of whose rows are fakes, and three classifiers: a network with group norm, a small ResNet, and
a transformer block. For the classifiers, `row_by_row` forces the way of networks that cannot be book-kept.

All take the same step on the same rows, in single precision, on one thread: forward, backward, Adam; the private
ones also clip every row and add noise, each with its own code. The number of real rows is another one in each repeat,
as Poisson sampling has it: ours run in passes of equal numbers of rows, as in a silo, and the last one is filled up.
Processor time counts, which is what the step takes on an idle machine. Repeats are interleaved, so that whatever else
the machine does meets all alike, and medians are reported. Peak memory is that of a process that does nothing else.

Rates are in sampled rows. `noise_share` is the noise's part of our step's processor time, from the clipped sum
to the noised one, measured within the same steps; at most a tenth is aimed at. `single_precision_noise_share` is what
floating-point noise by Box and Muller would take beside the rest of the same step, which no theorem covers; it is there
to compare with.

Opacus writes down a gigabyte of per-row gradients at every step. Where the system is slow to hand out memory, much
of its time goes there; `--keep-memory` sets an allocator that gives none back, which is the setting in its favour. It
gets the contiguous layout in the convolutional network, because it unfolds channels-last maps wrongly.
"""

import argparse
import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from siloseal.federation.job.sections.optimizers import DpAdamConfig
from siloseal.federation.privacy.mechanisms.gaussian_noise import noise_deviation
from siloseal.federation.randomness import SecureRandomness
from siloseal.models.gan.discriminators import ConvDiscriminator, MlpDiscriminator
from siloseal.models.learner import LabelledRows, Rows
from siloseal.silo.training.clipping.book_keeping import BookKeeping
from siloseal.silo.training.clipping.passes import rows_of_a_pass
from siloseal.silo.training.clipping.plan import NOT_APART, ClippingPlan, one_by_one, steady_plan
from siloseal.silo.training.clipping.probe import Probe
from siloseal.silo.training.clipping.row_by_row import RowByRow
from siloseal.silo.training.noising import add_noise, scale
from siloseal.silo.training.optimizers import DpAdam

Name = Literal["mlp", "conv", "norm_cnn", "resnet", "transformer"]
Way = Literal["ours", "row_by_row", "opacus", "plain"]
WAYS: dict[Name, tuple[Way, ...]] = {
    "mlp": ("ours", "opacus", "plain"),
    "conv": ("ours", "opacus", "plain"),
    "norm_cnn": ("ours", "row_by_row", "opacus", "plain"),
    "resnet": ("ours", "row_by_row", "opacus", "plain"),
    "transformer": ("ours", "row_by_row", "opacus", "plain"),
}

ROWS: dict[Name, int] = {"mlp": 1024, "conv": 256, "norm_cnn": 256, "resnet": 256, "transformer": 256}
"""Rows of a step that are expected, a discriminator's fakes included."""
REPEATS: dict[Name, int] = {"mlp": 40, "conv": 15, "norm_cnn": 7, "resnet": 7, "transformer": 15}
WARM_UP = 2  # repeats that do not count
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**33), "MALLOC_TOP_PAD_": str(2**26)}
CLIP_NORM, NOISE_MULTIPLIER, LEARNING_RATE = 1.0, 1.0, 1e-4
NOISE_TARGET = 0.1
"""The largest share of a private step that its noise may take."""


class Block(nn.Module):
    """A residual block: two 3x3 convolutions with group norm, and a 1x1 convolution beside them where maps change."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.one, self.first_norm = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.GroupNorm(8, outputs)
        self.other, self.second_norm = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.GroupNorm(8, outputs)
        self.beside = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if stride > 1 else nn.Identity()

    def forward(self, maps: Tensor) -> Tensor:
        """Maps (rows, outputs, H / stride, W / stride)."""
        inner = functional.relu(self.first_norm(self.one(maps)))
        return functional.relu(self.second_norm(self.other(inner)) + self.beside(maps))


class Transformer(nn.Module):
    """One encoder layer of 128 channels on the 49 patches of 4x4 pixels of an image: 202k parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, 128, kernel_size=4, stride=4)
        self.encoder = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
        self.head = nn.Linear(128, 10)

    def forward(self, images: Tensor) -> Tensor:
        """Logits (rows, 10)."""
        patches = self.patches(images).flatten(2).transpose(1, 2)  # (rows, 49, 128)
        logits: Tensor = self.head(self.encoder(patches).mean(1))
        return logits


def norm_cnn() -> nn.Module:
    """Two convolutions with group norm and two linear layers: 422k parameters."""
    maps = [nn.Conv2d(1, 32, 3, padding=1), nn.GroupNorm(8, 32), nn.ReLU(), nn.MaxPool2d(2)]
    maps += [nn.Conv2d(32, 64, 3, padding=1), nn.GroupNorm(8, 64), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*maps, nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10))


def resnet() -> nn.Module:
    """Three residual blocks with 16, 32 and 64 channels: 78k parameters."""
    first = [nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.GroupNorm(8, 16), nn.ReLU()]
    blocks = [Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2)]
    return nn.Sequential(*first, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


CLASSIFIERS: dict[Name, Callable[[], nn.Module]] = {
    "norm_cnn": norm_cnn,
    "resnet": resnet,
    "transformer": Transformer,
}


def made_up(count: int) -> Rows:
    """Rows that look like images of ten classes."""
    return Rows(torch.rand(count, 1, 28, 28), torch.arange(count) % 10)


def sample_sizes(expected: int, repeats: int) -> list[int]:
    """The numbers of units that Poisson samples have, the same at every call: one at least, twice as many at most."""
    drawn = torch.poisson(torch.full((repeats,), float(expected)), generator=torch.Generator().manual_seed(0))
    return [int(size) for size in drawn.clamp(1, 2 * expected)]


class Step:
    """One network, and the step that a way of training takes on a number of units."""

    def __init__(self, name: Name, way: Way) -> None:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)
        self.classifies = name in CLASSIFIERS
        self.network = CLASSIFIERS[name]() if self.classifies else self._discriminator(name, way)
        self.expected_batch = ROWS[name] if self.classifies else ROWS[name] // 2
        self.fakes = made_up(ROWS[name] - self.expected_batch)
        self.units = made_up(2 * self.expected_batch)  # a step takes the first ones
        self.noise_seconds = list[float]()
        """Seconds of the noise in each step of ours."""
        self.take = self._step(way)

    def _discriminator(self, name: Name, way: Way) -> nn.Module:
        if name == "mlp":
            return MlpDiscriminator((1, 28, 28), 10)
        network = ConvDiscriminator((1, 28, 28), 10)
        if way == "opacus":
            network.layout = torch.contiguous_format
        return network

    def _step(self, way: Way) -> Callable[[int], None]:
        match way:
            case "ours":
                return self._ours(self._plan(BookKeeping(self.network)))
            case "row_by_row":
                return self._ours(self._plan(RowByRow(self.network, vectorised=True)))
            case "opacus":
                return self._opacus()
            case "plain":
                return self._plain()

    def _plan(self, way: BookKeeping | RowByRow) -> ClippingPlan:
        """The passes that a silo on this machine would take, which it tries first."""
        probe = Probe(self.network, self.unit_losses, made_up)
        plan = steady_plan(probe, self.network, way, rows_of_a_pass(self.network, self.expected_batch))
        return plan or one_by_one(self.network, NOT_APART)

    def sampled(self, count: int) -> Rows:
        """The units of a step."""
        return Rows(self.units.inputs[:count], self.units.labels[:count])

    def unit_losses(self, units: LabelledRows) -> Tensor:
        """Cross entropy of the label, or of a discriminator's "real"."""
        if self.classifies:
            return functional.cross_entropy(self.network(units.inputs), units.labels, reduction="none")
        return functional.softplus(-self.network(units.inputs, units.labels))

    def fake_losses(self, fakes: LabelledRows) -> Tensor:
        """Cross entropy of a discriminator's "fake"."""
        return functional.softplus(self.network(fakes.inputs, fakes.labels))

    def summed_loss(self, count: int) -> Tensor:
        """The sum over all rows of a step, which run together."""
        units = self.sampled(count)
        if self.classifies:
            return self.unit_losses(units).sum()
        inputs, labels = (torch.cat(parts) for parts in zip(units, self.fakes, strict=True))
        logits = self.network(inputs, labels)
        return functional.softplus(-logits[:count]).sum() + functional.softplus(logits[count:]).sum()

    def _ours(self, plan: ClippingPlan) -> Callable[[int], None]:
        optimizer = DpAdam(self.network.parameters(), DpAdamConfig(learning_rate=LEARNING_RATE))
        randomness = SecureRandomness()

        def take(count: int) -> None:
            clipped = plan.gradient_sum(self.unit_losses, self.sampled(count), clip_norm=CLIP_NORM)
            if not self.classifies:  # fakes run together, as many in every step
                public = plan.way.gradient_sum(self.fake_losses, self.fakes, clip_norm=CLIP_NORM)
                clipped = [part + other for part, other in zip(clipped, public, strict=True)]
            total = torch.cat([gradient.reshape(-1) for gradient in clipped])
            start = time.process_time()
            noisy = add_noise(total, noise_std=noise_deviation(NOISE_MULTIPLIER, CLIP_NORM), randomness=randomness)
            self.noise_seconds.append(time.process_time() - start)
            optimizer.step(scale(noisy, self.expected_batch))

        return take

    def _opacus(self) -> Callable[[int], None]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from opacus.grad_sample import GradSampleModule
            from opacus.optimizers import DPOptimizer
            from opacus.validators import ModuleValidator
        if isinstance(self.network, Transformer):  # its own attention takes the place of torch's, unknown to its hooks
            self.network.encoder = ModuleValidator.fix(self.network.encoder)
        self.network = GradSampleModule(self.network, loss_reduction="sum")
        optimizer = DPOptimizer(
            torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE, betas=(0.5, 0.999)),
            noise_multiplier=NOISE_MULTIPLIER,
            max_grad_norm=CLIP_NORM,
            expected_batch_size=self.expected_batch,
            loss_reduction="mean",
        )

        def take(count: int) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.autograd.backward(self.summed_loss(count))
            optimizer.step()
            optimizer.zero_grad()

        return take

    def _plain(self) -> Callable[[int], None]:
        optimizer = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE, betas=(0.5, 0.999))

        def take(count: int) -> None:
            torch.autograd.backward(self.summed_loss(count) / self.expected_batch)
            optimizer.step()
            optimizer.zero_grad()

        return take


def single_precision_noise(entries: int) -> float:
    """Seconds that floating-point noise on so many entries takes."""
    total, randomness, start = torch.zeros(entries), SecureRandomness(), time.process_time()
    total.add(torch.from_numpy(randomness.normals(entries)), alpha=NOISE_MULTIPLIER * CLIP_NORM)
    return time.process_time() - start


def peak_mebibytes(name: Name, way: Way) -> float:
    """Memory in MiB that this process has needed at most, after a few steps of one way."""
    step = Step(name, way)
    for size in sample_sizes(step.expected_batch, 3):
        step.take(size)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: Name, repeats: int) -> dict[str, float]:
    """Medians over interleaved repeats."""
    steps = {way: Step(name, way) for way in WAYS[name]}
    rates: dict[Way, list[float]] = {way: [] for way in WAYS[name]}
    seconds = list[float]()
    entries, old_noise = sum(parameter.numel() for parameter in steps["ours"].network.parameters()), list[float]()
    for size in sample_sizes(steps["ours"].expected_batch, repeats + WARM_UP):
        for way, step in steps.items():
            start = time.process_time()
            step.take(size)
            taken = time.process_time() - start
            rates[way].append((size + len(step.fakes.labels)) / taken)
            if way == "ours":
                seconds.append(taken)
        old_noise.append(single_precision_noise(entries))
    rate = {way: median(found[WARM_UP:]) for way, found in rates.items()}
    result = {f"{way}_examples_per_s": round(rate[way], 1) for way in WAYS[name]}
    result["speedup_over_opacus"] = round(rate["ours"] / rate["opacus"], 3)
    if "row_by_row" in rate:
        result["row_by_row_speedup_over_opacus"] = round(rate["row_by_row"] / rate["opacus"], 3)
    result["fraction_of_plain"] = round(rate["ours"] / rate["plain"], 3)
    noise, old, whole = (median(times[WARM_UP:]) for times in (steps["ours"].noise_seconds, old_noise, seconds))
    result["noise_share"] = round(noise / whole, 4)
    result["single_precision_noise_share"] = round(old / (whole - noise + old), 4)
    return result


def measure_memory(name: Name) -> dict[str, float]:
    """Peaks of memory, each in a fresh process. Call it before this one grows: a child starts at its parent's peak."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as children:
        peaks = {way: children.submit(peak_mebibytes, name, way) for way in WAYS[name]}
        return {f"{way}_peak_rss_mib": round(peak.result(), 1) for way, peak in peaks.items()}


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON only")
    parser.add_argument("--keep-memory", action="store_true", help="let the allocator keep freed memory")
    options = parser.parse_args()
    if (
        options.keep_memory and not KEEP_MEMORY.items() <= os.environ.items()
    ):  # the allocator reads them once, when a process starts
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **KEEP_MEMORY})  # noqa: S606
    memory = {name: measure_memory(name) for name in ROWS}
    results = {name: measure(name, REPEATS[name]) | memory[name] for name in ROWS}
    if options.json:
        print(json.dumps(results, indent=1))
        return
    for name, result in results.items():
        print(f"\n{name}, 28x28, about {ROWS[name]} rows a step")
        for key, value in result.items():
            print(f"  {key:32s} {value:12,.4g}" if key.endswith("share") else f"  {key:32s} {value:12,.2f}")
    print()
    for name, result in results.items():
        met = "pass" if result["noise_share"] <= NOISE_TARGET else "FAIL"
        print(f"{met}  {name}.noise_share {result['noise_share']:.4f}, at most {NOISE_TARGET:g}")


if __name__ == "__main__":
    main()
