"""What a job will do, cost and upload, before anything runs: steps, epsilon, bytes, memory, time, who learns what."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from siloseal.federation.job.contributions import require_precision
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.planning import SiloPlan, counted_in_all, epsilon_by_phase, plan_silo
from siloseal.federation.job.releases import Content, Lengths, by_phase, releases
from siloseal.federation.job.sections.privacy import NoPrivacy, UnitLevel
from siloseal.federation.job.sections.warm_start import KernelMeanStart, PublicStart
from siloseal.federation.privacy.events import Event
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import RealDomain
from siloseal.models.building import Model, build_learner, feature_map, initial_model, load_generator, vector_lengths
from siloseal.models.kernel_mean import fit_generator
from siloseal.models.user_code.loading import found_code
from siloseal.run_folder.metrics import ProtectionMetric
from siloseal.runs.federation_of_one import federation_of_one, trains_silos_alone
from siloseal.runs.guarantees import protection
from siloseal.silo.allowance import epsilon_of_one_example
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.units import count_units, units_of
from siloseal.silo.public_start import public_sum
from siloseal.silo.training.trainer import Privacy, PrivateTrainer

MEASURED_STEPS = 5
PROGRAM_BYTES = 600 * 2**20
"""Memory that Python and torch take by themselves."""


@dataclass(frozen=True)
class SiloCost:
    """One silo's line of the plan.

    >>> north = siloseal.plan(siloseal.load_job("job.yaml")).silos[0]
    >>> north.name, north.examples, north.units, round(north.epsilon["total"], 1)
    ('north', 479, 479, 10.0)
    """

    name: str
    examples: int
    units: int
    """Number of units of privacy: the examples, or the tasks that they form."""
    plan: SiloPlan
    epsilon: dict[str, float] | None
    """Epsilon by phase and in total; None where privacy is off."""
    epsilon_of_one_example: float | None = None
    """Epsilon of one example, as a silo's policy counts it, at the job's delta, where the protected unit is another.

    It is infinite where nothing bounds it, and None where an example is the unit already, or privacy is off.
    """
    epsilon_alone: float | None = None
    """Epsilon that training the silo alone, for comparison, spends besides; None where it is not trained alone."""


@dataclass(frozen=True)
class Plan:
    """What a job would do and cost. Printed, it is what the command `siloseal plan` shows.

    >>> plan = siloseal.plan(siloseal.load_job("job.yaml"))
    >>> plan.parameters, round(plan.upload_bytes["phase_1"] / plan.parameters)  # four bytes a parameter, in clear
    (17792, 4)
    """

    silos: list[SiloCost]
    accountant: str | None
    """How the epsilon of the silo that spends most was counted; None where privacy is off."""
    parameters: int
    upload_bytes: dict[str, int]
    """Bytes that one silo sends, by phase; measured on encoded messages of the right size."""
    download_bytes: dict[str, int]
    memory_bytes: int
    seconds: dict[str, float]
    """Seconds by phase, estimated from a few measured steps on this machine.

    `silo_alone` and `pooled` are no phases: they train once more, to compare with, where the job's evaluation asks.
    """
    uploads: list[ProtectionMetric]
    """What each phase uploads, by which sum, and what the aggregator learns; the run records the same."""
    job: Job
    """Job that is planned."""
    code: str | None = None
    """Code of the user's own that the job names, with the digest of what lies here, as a policy lists it."""

    @property
    def epsilon_of_one_example(self) -> float | None:
        """The largest epsilon of one example over all silos, where the protected unit is another; else None."""
        return max((found for cost in self.silos if (found := cost.epsilon_of_one_example) is not None), default=None)

    def __str__(self) -> str:
        from siloseal.report.terminal import as_text
        from siloseal.runs.plan_table import print_plan  # here: it imports this module

        return as_text(lambda terminal: print_plan(terminal, self))


def make_plan(job: Job, parts: dict[str, Examples], *, workers: int) -> Plan:
    """The plan of this job over these silos."""
    first = next(iter(parts.values()))
    model = initial_model(job, first.shape, first.classes)
    alone = list(parts)[: job.evaluation.most_silos] if trains_silos_alone(job, len(parts)) else []
    silos = [_silo_cost(job, name, part, alone=name in alone) for name, part in parts.items()]
    if isinstance(job.warm_start, PublicStart):  # it is read now, so that what is wrong with it is said now
        features = feature_map(job, job.warm_start, first.shape, first.classes)
        public_sum(job.warm_start, features, own=job.data)
    lengths = vector_lengths(job, first.shape, first.classes)
    sent, received, in_sums = _traffic(job, lengths)
    return Plan(
        silos=silos,
        accountant=_accountant(job, silos),
        parameters=model.size,
        upload_bytes=sent,
        download_bytes=received,
        memory_bytes=_memory(parts, model.size),
        seconds=_seconds(job, parts, silos, model, in_sums, workers),
        uploads=protection(by_phase(releases(job, lengths)), private=not isinstance(job.privacy, NoPrivacy)),
        job=job,
        code=None if job.learner.code is None else str(found_code(job.learner.code)),
    )


def _silo_cost(job: Job, name: str, part: Examples, *, alone: bool) -> SiloCost:
    units = count_units(job, part)
    lengths = vector_lengths(job, part.shape, part.classes)
    plan = plan_silo(job, name, units, lengths, examples=len(part))
    require_precision(job, name, units)
    if isinstance(job.privacy, NoPrivacy):
        return SiloCost(name, len(part), units, plan, None)
    events, delta = [event for events in plan.events().values() for event in events], job.privacy.delta
    by_itself = plan_silo(federation_of_one(job, name), name, units, lengths, examples=len(part)) if alone else None
    return SiloCost(
        name,
        len(part),
        units,
        plan,
        epsilon_by_phase(plan, delta),
        epsilon_of_one_example(job, events),
        None if by_itself is None else counted_in_all(by_itself, delta).epsilon,
    )


def _accountant(job: Job, silos: list[SiloCost]) -> str | None:
    if isinstance(job.privacy, NoPrivacy):
        return None
    most = max(silos, key=lambda cost: cost.epsilon["total"] if cost.epsilon else 0.0)
    return counted_in_all(most.plan, job.privacy.delta).accountant


def _traffic(job: Job, lengths: Lengths) -> tuple[dict[str, int], dict[str, int], dict[str, float]]:
    """Bytes of one silo that takes part in everything, and the seconds of all silos' sums, one after the other."""
    model_bytes = 4 * lengths.model
    up, down, last = Counter[str](), Counter[str](), str(Phase.WARM_START)
    seconds = dict[str, float]()
    for release, count in by_phase(releases(job, lengths)):
        cost, last = _sum_cost(release.scheme, release.domain, len(release.roster)), release.phase
        start_bytes = 0 if release.content is Content.KERNEL_MEAN else model_bytes  # what the training starts from
        up[last], down[last] = count * cost.sent, count * (start_bytes + cost.received)
        seconds[last] = count * cost.seconds
    down[last] += model_bytes  # the final model goes to everyone
    return dict(up), dict(down), seconds


class SumCost(NamedTuple):
    """The cost of one sum: bytes that the first silo sends and receives, and seconds of all parties in turn."""

    sent: int
    received: int
    seconds: float


def _sum_cost(scheme: SecureSum, domain: RealDomain, silos: int) -> SumCost:
    """The cost of the real protocol, run on zeros."""
    began = time.perf_counter()
    zeros = dict.fromkeys((f"silo{number}" for number in range(silos)), np.zeros(domain.length))
    # Seeds and the id settle who sends what to whom, so that a plan says the same twice.
    seeds = {silo: SeededRandomness(number) for number, silo in enumerate(zeros)}
    found = sum_in_process(scheme, zeros, domain=domain, randomness=seeds.__getitem__, session_id=bytes(32))
    return SumCost(found.sent["silo0"], found.received["silo0"], time.perf_counter() - began)


def _memory(parts: dict[str, Examples], parameters: int) -> int:
    """Memory of the examples, and of about twelve copies of a model a silo: networks, moments, gradients, messages."""
    numbers = sum(part.inputs.numel() + part.labels.numel() for part in parts.values())
    return PROGRAM_BYTES + 2 * 4 * numbers + len(parts) * 12 * 4 * 2 * parameters


def _seconds(
    job: Job,
    parts: dict[str, Examples],
    silos: list[SiloCost],
    model: Model,
    in_sums: Mapping[str, float],
    workers: int,
) -> dict[str, float]:
    """Seconds of a few steps measured here, times the planned steps; and of a sum measured here, times the sums."""
    part = max(parts.values(), key=len)
    step_seconds = _step_seconds(job, part)
    seconds: defaultdict[str, float] = defaultdict(float)
    for cost in silos:
        for trained, steps in cost.plan.steps.items():
            seconds[trained] += steps * step_seconds / min(workers, len(parts))
    for phase, spent in in_sums.items():
        seconds[phase] += spent / min(workers, len(parts))
    match job.warm_start:
        case KernelMeanStart() | PublicStart() as start:
            seconds[Phase.WARM_START] += start.fit_steps * _fit_seconds(job, start, part, model)
    if trains_silos_alone(job, len(parts)):
        fits = seconds.get(Phase.WARM_START, 0.0) * len(parts) / min(workers, len(parts))
        part_measured = min(1.0, job.evaluation.most_silos / len(parts))
        later = sum(spent for phase, spent in seconds.items() if phase != Phase.WARM_START)
        seconds["silo_alone"] = part_measured * (fits + later)
    if job.evaluation.pooled:  # as many units a step as all silos see
        seconds["pooled"] = sum(sum(cost.plan.steps.values()) for cost in silos) * step_seconds
    return dict(seconds)


class _NobodysLedger:
    """A ledger for steps whose result is thrown away."""

    def charge(self, event: Event, *, phase: str) -> None:
        """Book nothing, because nothing is released."""


def _step_seconds(job: Job, part: Examples) -> float:
    """Seconds of one training step, with clipping and noise where the job has them. Nobody is charged for it."""
    units = units_of(job, part, SeededRandomness(0))
    rate = min(1.0, job.schedule.batch / len(units))
    learner = build_learner(
        job,
        part.shape,
        part.classes,
        labels=sorted(part.label_set()),
        expected_batch=rate * len(units),
        randomness=SeededRandomness(0),
    )
    private = isinstance(job.privacy, UnitLevel)
    trainer = PrivateTrainer(
        learner,
        units,
        sampling_rate=rate,
        optimizer=job.optimizer,
        privacy=Privacy(1.0, 1.0, _NobodysLedger()) if private else None,
        randomness=SeededRandomness(0),
    )
    return _timed(lambda steps: trainer.train(steps, phase="plan"))


def _fit_seconds(job: Job, start: KernelMeanStart | PublicStart, part: Examples, model: Model) -> float:
    generator = load_generator(job, part.shape, part.classes, model)
    features = feature_map(job, start, part.shape, part.classes)
    zeros = torch.zeros(features.length, dtype=torch.float64)
    return _timed(
        lambda steps: fit_generator(
            generator, features, zeros, steps=steps, batch=start.fit_batch, learning_rate=start.learning_rate, seed=0
        )
    )


def _timed(run: Callable[[int], object]) -> float:
    """The seconds of one step."""
    run(1)
    began = time.perf_counter()
    run(MEASURED_STEPS)
    return (time.perf_counter() - began) / MEASURED_STEPS
