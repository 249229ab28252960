"""Examples per second of a private discriminator step: ours, Opacus's per-sample gradients, and no privacy at all.

    python benchmarks/dp_training.py [--json] [--keep-memory]

All three take the same step on the same rows, in single precision, on one thread: forward, backward, Adam; the private
ones also clip every row and add noise, each with its own code. Repeats are interleaved, so that whatever else the
machine does meets all three alike, and medians are reported. Peak memory is that of a process that does nothing else.

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
from siloseal.federation.randomness import SecureRandomness
from siloseal.models.gan.discriminators import ConvDiscriminator, MlpDiscriminator
from siloseal.silo.training.clipping import clipped_gradient_sum
from siloseal.silo.training.noising import add_noise, scale
from siloseal.silo.training.optimizers import DpAdam

Name = Literal["mlp", "conv"]
Way = Literal["ours", "opacus", "plain"]
WAYS: tuple[Way, ...] = ("ours", "opacus", "plain")

ROWS: dict[Name, int] = {"mlp": 1024, "conv": 256}  # half of them real, half fakes
REPEATS: dict[Name, int] = {"mlp": 40, "conv": 15}
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**33), "MALLOC_TOP_PAD_": str(2**26)}
CLIP_NORM, NOISE_MULTIPLIER, LEARNING_RATE = 1.0, 1.0, 1e-4


class Step:
    """One network, one batch, and the step that a way of training takes on it."""

    def __init__(self, name: Name, way: Way) -> None:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)
        rows = ROWS[name]
        self.network: nn.Module = (MlpDiscriminator if name == "mlp" else ConvDiscriminator)((1, 28, 28), 10)
        if isinstance(self.network, ConvDiscriminator) and way == "opacus":
            self.network.layout = torch.contiguous_format
        self.images, self.labels = torch.rand(rows, 1, 28, 28), torch.arange(rows) % 10
        self.targets = (torch.arange(rows) < rows // 2).float()
        self.expected_batch = rows // 2
        self.take: Callable[[], None] = {"ours": self._ours, "opacus": self._opacus, "plain": self._plain}[way]()

    def row_losses(self) -> Tensor:
        logits = self.network(self.images, self.labels)
        return functional.binary_cross_entropy_with_logits(logits, self.targets, reduction="none")

    def _ours(self) -> Callable[[], None]:
        optimizer = DpAdam(self.network.parameters(), DpAdamConfig(learning_rate=LEARNING_RATE))
        randomness = SecureRandomness()

        def take() -> None:
            clipped = clipped_gradient_sum(self.network, self.row_losses, clip_norm=CLIP_NORM)
            total = torch.cat([gradient.reshape(-1) for gradient in clipped])
            noisy = add_noise(total, noise_std=NOISE_MULTIPLIER * CLIP_NORM, randomness=randomness)
            optimizer.step(scale(noisy, self.expected_batch))

        return take

    def _opacus(self) -> Callable[[], None]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from opacus.grad_sample import GradSampleModule
            from opacus.optimizers import DPOptimizer
        self.network = GradSampleModule(self.network, loss_reduction="sum")
        optimizer = DPOptimizer(
            torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE, betas=(0.5, 0.999)),
            noise_multiplier=NOISE_MULTIPLIER,
            max_grad_norm=CLIP_NORM,
            expected_batch_size=self.expected_batch,
            loss_reduction="mean",
        )

        def take() -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.autograd.backward(self.row_losses().sum())
            optimizer.step()
            optimizer.zero_grad()

        return take

    def _plain(self) -> Callable[[], None]:
        optimizer = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE, betas=(0.5, 0.999))

        def take() -> None:
            torch.autograd.backward(self.row_losses().sum() / self.expected_batch)
            optimizer.step()
            optimizer.zero_grad()

        return take


def peak_mebibytes(name: Name, way: Way) -> float:
    """Memory in MiB that this process has needed at most, after a few steps of one way."""
    step = Step(name, way)
    for _ in range(3):
        step.take()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: Name, repeats: int) -> dict[str, float]:
    """Medians over interleaved repeats."""
    steps = {way: Step(name, way) for way in WAYS}
    seconds: dict[Way, list[float]] = {way: [] for way in WAYS}
    for repeat in range(repeats + 2):
        for way, step in steps.items():
            start = time.perf_counter()
            step.take()
            if repeat >= 2:  # the first two warm up
                seconds[way].append(time.perf_counter() - start)
    rate = {way: ROWS[name] / median(times) for way, times in seconds.items()}
    result = {f"{way}_examples_per_s": round(rate[way], 1) for way in WAYS}
    result["speedup_over_opacus"] = round(rate["ours"] / rate["opacus"], 3)
    result["fraction_of_plain"] = round(rate["ours"] / rate["plain"], 3)
    return result


def measure_memory(name: Name) -> dict[str, float]:
    """Peaks of memory, each in a fresh process. Call it before this one grows: a child starts at its parent's peak."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as children:
        return {f"{way}_peak_rss_mib": round(children.submit(peak_mebibytes, name, way).result(), 1) for way in WAYS}


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
        print(f"\n{name}, 28x28, {ROWS[name]} rows a step")
        for key, value in result.items():
            print(f"  {key:24s} {value:12,.2f}")


if __name__ == "__main__":
    main()
