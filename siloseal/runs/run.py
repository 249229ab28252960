"""A whole run: data, silos, the job, the silos alone for comparison, and the run folder with its report."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from threadpoolctl import threadpool_limits
from torch import nn

from siloseal.federation.job.contributions import require_precision
from siloseal.federation.job.job import Job
from siloseal.federation.job.planning import plan_silo
from siloseal.federation.job.sections.few_shot import Episodic
from siloseal.federation.job.sections.privacy import NoPrivacy, SiloLevel
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.storage import locked, write_atomically
from siloseal.federation.run_events.experimenter import ComparisonProgressed, RunOpened
from siloseal.federation.run_events.stream import EventStream, Subscriber, unheard
from siloseal.models.building import vector_lengths
from siloseal.models.model_files import GLOBAL_MODEL, read_model, shared_model_file
from siloseal.models.user_code.pinning import missing_digests
from siloseal.run_folder.location import folder_alone, open_run_folder, silo_folder
from siloseal.run_folder.summary import RunSummary
from siloseal.runs.closing import finish_folder, open_ledgers, sum_up
from siloseal.runs.federation_of_one import federation_of_one, trains_silos_alone
from siloseal.runs.recorder import Recorder
from siloseal.runs.result import RunResult, from_trained
from siloseal.runs.scoring import build_scorer
from siloseal.runs.simulation import RandomnessOf, federate, open_silos, simulated_data
from siloseal.runs.stages import stage_lengths
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.units import count_units
from siloseal.silo.training.device import CPU

WORKERS = 2
"""Number of silos that compute at the same time; each uses one thread of its own."""

POOLED = "pooled"


Federation = Callable[[Job, Mapping[str, Examples], Path, Recorder, Subscriber], RunResult]
"""Function that runs or continues a job among silos that hold these parts, in this folder, and publishes its events."""


def run_job(
    job: Job,
    out: Path | None,
    show: Subscriber = unheard,
    *,
    randomness_of: RandomnessOf = lambda _: SecureRandomness(),
    workers: int = WORKERS,
    device: torch.device = CPU,
) -> RunSummary:
    """Run, or go on with, the job in its folder, with silos in this process, `workers` of them at a time.

    All of them train on one device, those that are compared with, too. Seeded results are those of the CPU. Code and
    weights of the user's own get their digests into the job, so that a run does not go on with others.
    """
    job = job.model_copy(update={"learner": job.learner.model_copy(update=missing_digests(job.learner))})

    def in_process(
        job: Job, parts: Mapping[str, Examples], run_dir: Path, recorder: Recorder, publish: Subscriber
    ) -> RunResult:
        with open_silos(job, parts, run_dir, randomness_of, publish, device=device) as silos:
            outcome = federate(job, silos, run_dir, publish, workers=workers)
        return from_trained(outcome.result, outcome.notes, recorder.traffic.counted())

    return run_and_report(job, out, show, in_process, randomness_of, workers=workers, device=device)


def run_and_report(
    job: Job,
    out: Path | None,
    show: Subscriber,
    federation: Federation,
    randomness_of: RandomnessOf,
    *,
    workers: int = WORKERS,
    device: torch.device = CPU,
) -> RunSummary:
    """Write everything that a reader of the run's folder expects.

    What can be refused is refused before anything is written: data, partition, noise.
    """
    torch.set_num_threads(1)  # the parallelism is between silos
    data = simulated_data(job)
    train, parts = data.train, data.parts
    _require_feasible(job, train, parts)
    scorer = build_scorer(job, train, data.held_out, parts, data.held_out_of)
    run_dir = open_run_folder(job, out)
    repeated = out is None and run_dir.name != job.name
    show(RunOpened(job.name, str(run_dir), repeated, stage_lengths(job)))
    with locked(run_dir), threadpool_limits(1):
        began, events = time.monotonic(), EventStream()
        recorder = Recorder(job, run_dir, scorer, train.shape, train.classes, events.publish)
        events.subscribe(recorder.hear)
        events.subscribe(show)
        recorder.score_reference()
        finished = federation(job, parts, run_dir, recorder, events.publish)
        shape, classes, network = finished.shape, finished.classes, finished.network
        model = shared_model_file(job.learner, shape, classes, network, columns=job.data.declared)
        write_atomically(run_dir / GLOBAL_MODEL, model)
        if job.learner.personal:
            _score_personal(job, parts, run_dir, recorder)
        recorder.finish()
        if recorder.scores:  # a comparison that nothing measures is not trained for
            _score_silos(job, parts, run_dir, recorder, randomness_of, show, workers, device)
        if recorder.scores and job.evaluation.pooled:
            _score_pooled(job, train, run_dir, recorder, show, device)
        with open_ledgers(job, run_dir, parts) as ledgers:
            summary = sum_up(job, run_dir, parts, ledgers, finished, recorder, seconds=time.monotonic() - began)
        finish_folder(run_dir, summary)
        return summary


def _require_feasible(job: Job, train: Examples, parts: Mapping[str, Examples]) -> None:
    """Refuse a job whose noise or whose precision some silo's data do not allow."""
    lengths = vector_lengths(job, train.shape, train.classes)
    for name, part in parts.items():
        units = count_units(job, part)
        plan_silo(job, name, units, lengths, examples=len(part))
        require_precision(job, name, units)


def _score_personal(job: Job, parts: Mapping[str, Examples], run_dir: Path, recorder: Recorder) -> None:
    """Score the final model that each silo has, with its own part: what they share is no whole model."""
    with recorder.stopwatch.during("evaluation"):
        for name in list(parts)[: job.evaluation.most_silos]:
            if (path := silo_folder(run_dir, name) / GLOBAL_MODEL).exists():  # a silo that left has none
                recorder.score("final", name, read_model(path, code=job.learner.target_of_code).network)


def _score_silos(
    job: Job,
    parts: Mapping[str, Examples],
    run_dir: Path,
    recorder: Recorder,
    randomness_of: RandomnessOf,
    show: Subscriber,
    workers: int,
    device: torch.device,
) -> None:
    """Score each silo's own model before the aggregation, and what it would have had without the others."""

    def score_trained(name: str) -> None:
        trained = silo_folder(run_dir, name) / "trained.safetensors"
        if trained.exists():
            recorder.score("silo_trained", name, read_model(trained, code=job.learner.target_of_code).network)

    def score_alone(name: str) -> None:
        if ("silo_alone", name) not in recorder.scores:
            part = parts[name]
            network = _run_alone(job, name, part, folder_alone(run_dir, name), randomness_of, device)
            # A silo without the others can only make the classes that it holds.
            recorder.score("silo_alone", name, network, sorted(part.label_set()))

    if isinstance(job.privacy, SiloLevel):
        return  # a silo's own model is not noised, and would leave it here
    tasks = {"silo_trained": score_trained, "silo_alone": score_alone}
    if not trains_silos_alone(job, len(parts)):
        del tasks["silo_alone"]
    for stage, task in tasks.items():
        names = list(parts)[: job.evaluation.most_silos]
        show(ComparisonProgressed(stage, 0, len(names)))
        with recorder.stopwatch.during(stage), ThreadPoolExecutor(workers) as pool:
            for done, _ in enumerate(pool.map(task, names), start=1):
                show(ComparisonProgressed(stage, done, len(names)))


def _score_pooled(
    job: Job, train: Examples, run_dir: Path, recorder: Recorder, show: Subscriber, device: torch.device
) -> None:
    """Score what the same training would have learnt from everybody's records in one place, without privacy."""
    if ("pooled", None) in recorder.scores:
        return
    show(ComparisonProgressed(POOLED, 0, 1))
    with recorder.stopwatch.during(POOLED):
        learner = job.learner
        if isinstance(learner, Episodic):  # as anyone would train who need not count
            learner = learner.model_copy(update={"episodes": "fresh"})
        # As many examples a step as all silos together see.
        schedule = job.schedule.model_copy(update={"batch": job.schedule.batch * len(job.silos.names)})
        largest = max(job.largest_silo, len(train))
        changes = {
            "privacy": NoPrivacy(kind="none"), "learner": learner, "schedule": schedule, "largest_silo": largest,
        }  # fmt: skip
        open_job = job.model_copy(update=changes)
        network = _run_alone(open_job, POOLED, train, run_dir / POOLED, lambda _: SecureRandomness(), device)
        recorder.score("pooled", None, network)
    show(ComparisonProgressed(POOLED, 1, 1))


def _run_alone(
    job: Job, name: str, part: Examples, folder: Path, randomness_of: RandomnessOf, device: torch.device
) -> nn.Module:
    """Run the same job at the same epsilon for one silo, in a ledger of its own; return the silo's model."""
    alone = federation_of_one(job, name)
    with open_silos(alone, {name: part}, folder, randomness_of, unheard, device=device) as opened:
        federate(alone, opened, folder, unheard, workers=1)
    return read_model(silo_folder(folder, name) / GLOBAL_MODEL, code=job.learner.target_of_code).network
