"""The whole MNIST over four silos: IID and label-skewed, from three starts, over several seeds.

    SILOSEAL_DATA=... python -m experiments.mnist_gan --out runs/mnist-gan [--seeds 3]

Two runs at a time, each on one thread. A run that is there is not run again, so that an interrupted grid goes on.
"""

import argparse
import itertools
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, stdev

import yaml

from federation.accounting import epsilon_text
from federation.config.job import Job
from siloseal.console import Console
from siloseal.metrics import QualityMetric
from siloseal.run_folder import is_finished
from siloseal.runs import run_job
from siloseal.summary import RunSummary, read_run

CONFIG = Path(__file__).parents[1] / "configs" / "mnist-gan.yaml"
PARTITIONS = {"label skew": {"kind": "by_class", "classes_per_silo": 5}, "IID": {"kind": "iid"}}
# The config starts from a generator that is good already. One that is still to grow is an MLP, and takes larger batches
# and larger steps, which decay.
GROWING: dict[str, dict[str, object]] = {
    "learner": {
        "generator": "mlp",
        "instance_noise": 0.3,
        "discriminator_warmup": 0,
        "generator_learning_rate": 2e-3,
        "generator_half_life_steps": 400,
    },
    "optimizer": {"learning_rate": 2e-3},
    "schedule": {"batch": 512, "local_steps": 500},
}
PUBLIC_DIGITS = {"kind": "digits", "side": 28, "margin": 4}
STARTS: dict[str, dict[str, dict[str, object]]] = {
    "kernel_mean": {},
    "public": {**GROWING, "warm_start": {"kind": "public", "data": PUBLIC_DIGITS, "fit_steps": 1500}},
    "none": {**GROWING, "warm_start": {"kind": "none"}},
}
WORKERS = 2


@dataclass(frozen=True)
class Cell:
    """One run of the grid."""

    partition: str
    start: str
    seed: int

    @property
    def name(self) -> str:
        """Names its folder."""
        return f"{self.partition.replace(' ', '-')}-{self.start}-{self.seed}"

    def job(self) -> Job:
        """The config with what this cell changes."""
        fields = yaml.safe_load(CONFIG.read_text())
        for section, changes in STARTS[self.start].items():
            fields[section] = changes if "kind" in changes else {**fields[section], **changes}
        fields["silos"]["partition"] = PARTITIONS[self.partition]
        return Job.model_validate({**fields, "name": self.name, "seed": self.seed})


def run_cell(cell: Cell, out: Path) -> RunSummary:
    """Run the cell, or read what an earlier call left."""
    folder = out / cell.name
    if is_finished(folder):
        return read_run(folder).summary
    with Console(quiet=True, json=False) as console:
        return run_job(cell.job(), folder, console)


def table(results: dict[Cell, RunSummary]) -> str:
    """Means over seeds, with standard deviations, as Markdown."""
    lines = [
        "| data | start | seeds | warm start | best silo | average | final | final LogReg / MLP | epsilon |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for partition, start in itertools.product(PARTITIONS, STARTS):
        runs = [summary for cell, summary in results.items() if (cell.partition, cell.start) == (partition, start)]
        warm, average, final = ([run.accuracy[stage] for run in runs] for stage in ("warm_start", "phase_1", "final"))
        best = [max(silo.accuracy_trained or 0.0 for silo in run.silos) for run in runs]
        columns = [*map(_spread, (warm, best, average, final)), _other_classifiers(runs)]
        epsilon = max(run.epsilon or 0.0 for run in runs)
        lines.append(f"| {partition} | `{start}` | {len(runs)} | {' | '.join(columns)} | {epsilon_text(epsilon)} |")
    return "\n".join(lines) + "\n"


def _other_classifiers(runs: list[RunSummary]) -> str:
    measured = [metric for run in runs for metric in read_run(Path(run.run_dir)).of(QualityMetric)]
    finals = [metric.accuracy for metric in measured if metric.stage == "final"]
    return " / ".join(f"{mean(accuracy[name] for accuracy in finals):.3f}" for name in ("logistic", "mlp"))


def _spread(values: list[float]) -> str:
    return f"{mean(values):.3f} ± {stdev(values):.3f}" if len(values) > 1 else f"{values[0]:.3f}"


def main() -> None:
    """Run the grid and write its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    cells = [Cell(p, start, seed) for start in STARTS for seed in range(arguments.seeds) for p in PARTITIONS]
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        running = {cell: pool.submit(run_cell, cell, arguments.out) for cell in cells}
        results = dict[Cell, RunSummary]()
        for cell, future in running.items():
            results[cell] = future.result()
            shown = {stage: round(value, 3) for stage, value in results[cell].accuracy.items()}
            print(f"{cell.name}: {shown}, {results[cell].seconds:.0f} s", flush=True)
    text = table(results)
    (arguments.out / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
