"""One FedAvg round among a thousand simulated silos against its plain training, in the same process.

    python benchmarks/thousand_silos.py [--json] [--silos N] [--rounds N] [--case NAME ...]

Each silo holds sixty random images of 28x28. The plain training of a round is what it cannot be faster than: the same
number of steps on the same silos' images, in a bare loop on one thread, and the average of the models. The simulation
trains two silos at a time. Every round is followed by its plain training, so that whatever
else the machine does meets both alike; medians over the rounds are reported.

  setup_s     from the job to the first round, once in a run: identities, enrolment, agreement, nonces
  round_s     a round: requests, training, checkpoints, the sum, the journal
  finish_s    the last request, in which every silo keeps the model, once in a run
  plain_s     the plain training of a round
  ratio       round_s / plain_s, of two threads against one. Target: at most 3 with the plain sum and the paper's E=5
  cpu_ratio   the same of processor time, of all threads together: what the simulation costs beyond the training
  memory_mb   the largest memory of the process so far: cases add up, so that a case alone shows its own

What the noise and the sum cost beyond the plain one is work that a bare loop does not do: masks, rotation, noise.
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import torch
from threadpoolctl import threadpool_limits
from torch.nn import functional

from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import participants, steps_in_a_round
from siloseal.federation.job.sections.schedule import FedAvg
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.run_events.coordination import Model, ModelReleased, RoundBegan
from siloseal.federation.run_events.stream import RunEvent
from siloseal.models.building import load_model
from siloseal.runs.simulation import federate, open_silos
from siloseal.silo.data.examples import Examples

IMAGES, SHAPE, CLASSES = 60, (1, 28, 28), 10
LEARNING_RATE = 0.05


@dataclass(frozen=True)
class Case:
    """One job: C, E and B of the FedAvg paper, and the noise on the sum."""

    model: str = "mlp"
    fraction: float = 0.1
    epochs: float = 5
    batch: int = 10
    mechanism: str = "none"
    secure_sum: str = "plain"

    def job(self, silos: int, rounds: int) -> Job:
        """The job of this case."""
        private = {"kind": "silo_level", "epsilon": 10, "delta": 1e-5, "clip_norm": 1.0}
        values: dict[str, Any] = {
            "name": "thousand",
            "data": {"kind": "digits"},  # nothing is read from there
            "silos": {"count": silos},
            "learner": {"kind": "classifier", "model": self.model},
            "optimizer": {"kind": "dp_sgd", "learning_rate": LEARNING_RATE},
            "privacy": {"kind": "none"} if self.mechanism == "none" else private,
            "warm_start": {"kind": "none"},
            "schedule": {
                "kind": "fedavg",
                "rounds": rounds,
                "fraction": self.fraction,
                "local_epochs": self.epochs,
                "batch": self.batch,
            },
            "secure_sum": {"kind": self.secure_sum},
        }
        return Job.model_validate(values if self.mechanism == "none" else {**values, "mechanism": self._noise()})

    def _noise(self) -> dict[str, Any]:
        return {"kind": self.mechanism, **({} if self.mechanism.startswith("gaussian") else {"bits": 16})}


PLAIN = Case()
CASES = {
    "mlp, C=0.1, E=5": PLAIN,
    "mlp, C=0.1, E=1": replace(PLAIN, epochs=1),
    "mlp, C=1, E=5": replace(PLAIN, fraction=1.0),
    "mlp, C=1, E=1": replace(PLAIN, fraction=1.0, epochs=1),
    "cnn, C=0.1, E=1": replace(PLAIN, model="cnn", epochs=1),
    "gaussian_central": replace(PLAIN, mechanism="gaussian_central"),
    "secagg_plus": replace(PLAIN, secure_sum="secagg_plus"),
    "ddg": replace(PLAIN, mechanism="ddg", secure_sum="secagg_plus"),
    "skellam": replace(PLAIN, mechanism="skellam", secure_sum="secagg_plus"),
    "pbm": replace(PLAIN, mechanism="pbm", secure_sum="secagg_plus"),
}


@dataclass(frozen=True)
class Measured:
    """The figures of one case."""

    setup_s: float
    round_s: float
    finish_s: float
    plain_s: float
    ratio: float
    cpu_ratio: float
    memory_mb: float


@dataclass(frozen=True)
class Moment:
    """Wall time and processor time, in seconds."""

    wall: float
    processor: float

    @classmethod
    def now(cls) -> "Moment":
        return cls(time.perf_counter(), time.process_time())

    def until_now(self) -> "Moment":
        now = self.now()
        return Moment(now.wall - self.wall, now.processor - self.processor)


class Stopwatch:
    """A subscriber that takes the time of each round, and then runs its plain training."""

    def __init__(self, job: Job, parts: Mapping[str, Examples]) -> None:
        self._job, self._parts = job, parts
        self.last, self.setup = Moment.now(), 0.0
        self.rounds, self.plain = list[Moment](), list[Moment]()

    def hear(self, event: RunEvent) -> None:
        match event:
            case RoundBegan(number):
                self.setup = self.setup or self.last.until_now().wall
                self.last, self._round = Moment.now(), number
            case ModelReleased(stage, model) if stage.startswith("round"):
                self.rounds.append(self.last.until_now())
                began = Moment.now()
                train_plainly(self._job, self._parts, self._round, model)
                self.plain.append(began.until_now())
                self.last = Moment.now()


def train_plainly(job: Job, parts: Mapping[str, Examples], round: int, start: Model) -> torch.Tensor:
    """The average model of one round, in a bare loop: Poisson batches, gradient descent, nothing else."""
    assert isinstance(job.schedule, FedAvg)
    network = load_model(job, SHAPE, CLASSES, start).requires_grad_(True)
    parameters = list(network.parameters())
    first = [parameter.detach().clone() for parameter in parameters]
    total = torch.zeros(start.size)
    asked = participants(job, round)
    for silo in asked:
        part = parts[silo]
        with torch.no_grad():
            for parameter, value in zip(parameters, first, strict=True):
                parameter.copy_(value)
        optimizer = torch.optim.SGD(parameters, lr=LEARNING_RATE)
        for _ in range(steps_in_a_round(job.schedule, len(part))):
            rows = torch.nonzero(torch.rand(len(part)) < job.schedule.batch / len(part)).squeeze(1)
            optimizer.zero_grad()
            losses = functional.cross_entropy(network(part.inputs[rows]), part.labels[rows], reduction="sum")
            (losses / job.schedule.batch).backward()
            optimizer.step()
        total += torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
    return total / len(asked)


def measure(case: Case, silos: int, rounds: int) -> Measured:
    """Run one case. The first round is left out: it fills caches, of the noise's calibration for one."""
    job = case.job(silos, rounds + 1)
    parts = {name: images(number) for number, name in enumerate(job.silos.names)}
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        watch = Stopwatch(job, parts)
        with open_silos(job, parts, Path(folder), lambda _: SecureRandomness(), watch.hear) as opened:
            federate(job, opened, Path(folder), watch.hear, workers=2)
        finish = watch.last.until_now().wall
    round_s, plain_s = (median(moment.wall for moment in taken[1:]) for taken in (watch.rounds, watch.plain))
    busy, plainly = (median(moment.processor for moment in taken[1:]) for taken in (watch.rounds, watch.plain))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(watch.setup, round_s, finish, plain_s, round_s / plain_s, busy / plainly, memory)


def images(seed: int) -> Examples:
    """Random images: what they show makes no difference to the time."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (IMAGES,), generator=generator)
    return Examples(torch.rand(IMAGES, *SHAPE, generator=generator), labels, CLASSES)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="A FedAvg round among many simulated silos.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--silos", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", action="append", choices=CASES, help="only this case; may be given several times")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    found = {name: measure(CASES[name], options.silos, options.rounds) for name in options.case or CASES}
    if options.json:
        print(json.dumps({name: asdict(measured) for name, measured in found.items()}, indent=2))
        return
    print(f"{'':18}" + "".join(f"{name:>11}" for name in Measured.__dataclass_fields__))
    for name, measured in found.items():
        print(f"{name:18}" + "".join(f"{value:11.2f}" for value in asdict(measured).values()))


if __name__ == "__main__":
    main()
