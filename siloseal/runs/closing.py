"""From what happened in a run to what its folder says: traffic, privacy, protection, honest notes, the summary."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from siloseal.federation.analytics.any_job import AnyJob, load_any_job
from siloseal.federation.analytics.guarantee import guarantee_in
from siloseal.federation.errors import RunError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.few_shot import Episodic
from siloseal.federation.job.sections.privacy import NoPrivacy
from siloseal.federation.privacy.events import GaussianRelease, SampledGaussianSteps
from siloseal.run_folder.location import folder_alone, silo_folder
from siloseal.run_folder.metrics import (
    REFERENCES,
    Metric,
    NoteMetric,
    PrivacyMetric,
    ProtectionMetric,
    TimingMetric,
    TrafficMetric,
)
from siloseal.run_folder.run import read_run, write_metrics, write_summary
from siloseal.run_folder.summary import ModelSummary, OfOneExample, RunSummary, SiloSummary, as_kept, as_number
from siloseal.runs.class_names import class_names
from siloseal.runs.guarantees import Ledgers, Parts, baseline_warnings, parameters, protection, training_releases
from siloseal.runs.notes import notes_of_slow_steps, run_notes
from siloseal.runs.record_notes import Scores
from siloseal.runs.recorder import Recorder
from siloseal.runs.result import RunResult
from siloseal.runs.scoring import headline
from siloseal.runs.simulation import declared_labels
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.units import count_units
from siloseal.silo.ledger import LEDGER_FILE, Budget, Ledger, open_ledger
from siloseal.silo.ledger_reading import read_ledger
from siloseal.silo.statement import spent_on_one_example, statement_of

RESUMED = (
    "This run was interrupted and resumed: durations are those of its last part, and training that the interruption "
    "threw away stays charged."
)


@dataclass(frozen=True)
class Known:
    """What is known of a run beside its result: everything in a simulation, less at a deployed aggregator."""

    scores: Scores
    timings: Sequence[TimingMetric]
    privacy: Sequence[PrivacyMetric]
    silos: list[SiloSummary]
    parameters: dict[str, str]
    warnings: list[str]
    notes: list[str]
    seconds: float
    written_by: Literal["experimenter", "aggregator"]
    run_id: str | None = None
    """Id of a deployed run, in hexadecimal."""
    class_names: tuple[str, ...] = ()
    """Names of the classes in the order of their numbers, where the data are here and have any."""


def sum_up(
    job: Job, run_dir: Path, parts: Parts, ledgers: Ledgers, finished: RunResult, recorder: Recorder, *, seconds: float
) -> RunSummary:
    """Write the closing metrics of a run whose data and ledgers are here, and return the summary."""
    warnings = [*finished.notes, *baseline_warnings(job), *([RESUMED] if recorder.resumed else [])]
    known = Known(
        scores=recorder.scores,
        timings=recorder.stopwatch.timings(),
        privacy=privacy_of(ledgers),
        silos=[_silo(job, name, parts[name], ledgers[name], recorder, run_dir) for name in parts],
        parameters=parameters(job, parts, ledgers, finished),
        warnings=list(dict.fromkeys(warnings)),  # the aggregator of a demo has noted some of them, too
        notes=[*run_notes(job, recorder.scores), *notes_of_slow_steps(recorder.rows_alone, of=len(parts))],
        seconds=seconds,
        written_by="experimenter",
        class_names=class_names(job.data),
    )
    return close_run(job, run_dir, finished, known)


def close_run(job: Job, run_dir: Path, finished: RunResult, known: Known, *, mode: int = 0o644) -> RunSummary:
    """Write the closing metrics of a run that has trained a model, and return its summary."""
    private = not isinstance(job.privacy, NoPrivacy)
    uploads = protection(training_releases(job, finished), private=private)
    write_closing(run_dir, known, finished.traffic, uploads, mode=mode)
    measure = headline(job)
    accuracy = {
        stage: metric.accuracy[measure]
        for (stage, silo), metric in known.scores.items()
        if silo is None and stage not in REFERENCES
    }
    alone = [silo.accuracy_alone for silo in known.silos if silo.accuracy_alone is not None]
    spent = [silo.epsilon for silo in known.silos if silo.epsilon is not None]
    return RunSummary(
        name=job.name,
        accuracy=accuracy,
        best_silo_accuracy=max(alone, default=None),
        real_data_accuracy=_reference("real", known.scores, measure),
        pooled_accuracy=_reference("pooled", known.scores, measure),
        epsilon=max(spent, default=None),
        delta=None if isinstance(job.privacy, NoPrivacy) else job.privacy.delta,
        epsilon_of_one_example=most_of_one_example(known.silos),
        bytes=sum(entry.sent_bytes + entry.received_bytes for entry in finished.traffic),
        seconds=known.seconds,
        run_dir=str(run_dir),
        learner=job.learner.kind,
        personal=job.learner.personal,
        classifier=measure if known.scores else "",
        scores=list(known.scores.values()),
        silos=known.silos,
        parameters=known.parameters,
        warnings=known.warnings,
        model=ModelSummary(
            parameters=finished.parameters,
            shape=finished.shape,
            classes=finished.classes,
            class_names=known.class_names,
        ),
        written_by=known.written_by,
        run_id=known.run_id,
    )


def most_of_one_example(silos: Sequence[SiloSummary]) -> OfOneExample:
    """The largest epsilon of one example over all silos."""
    found = [number for silo in silos if (number := as_number(silo.epsilon_of_one_example)) is not None]
    return as_kept(max(found, default=None))


def write_closing(
    run_dir: Path,
    known: Known,
    traffic: Sequence[TrafficMetric],
    uploads: Sequence[ProtectionMetric],
    *,
    mode: int,
) -> None:
    """Write metrics.jsonl as it stays."""
    metrics: list[Metric] = [*known.scores.values(), *traffic, *known.timings, *known.privacy, *uploads]
    metrics += [NoteMetric(text=text) for text in (*known.warnings, *known.notes)]
    write_metrics(run_dir, metrics, mode=mode)


def finish_folder(run_dir: Path, summary: RunSummary, *, mode: int = 0o644) -> Path:
    """Write the summary and then the report, with which a run has finished; return the path of the report."""
    write_summary(run_dir, summary, mode=mode)
    return write_page_of(run_dir)


def write_page_of(run_dir: Path) -> Path:
    """Write the report of a run that is summed up, and return its path."""
    from siloseal.report.run_report import write_report  # here: it draws, and only a finished run has to

    return write_report(run_dir)


@contextmanager
def open_ledgers(job: AnyJob, run_dir: Path, silos: Iterable[str]) -> Iterator[Ledgers]:
    """The ledgers of silos that have worked in this run; None for each where privacy is off."""
    with ExitStack() as stack:
        ledgers = dict[str, Ledger | None]()
        for name in silos:
            ledger = open_ledger(job, name, silo_folder(run_dir, name), worked_before=True)
            ledgers[name] = None if ledger is None else stack.enter_context(ledger)
        yield ledgers


def _silo(job: Job, name: str, part: Examples, ledger: Ledger | None, recorder: Recorder, run_dir: Path) -> SiloSummary:
    own = silo_folder(folder_alone(run_dir, name), name) / LEDGER_FILE
    measure = headline(job)
    scores = {stage: recorder.scores.get((stage, name)) for stage in ("silo_alone", "silo_trained")}
    alone, trained = (metric.accuracy[measure] if metric else None for metric in scores.values())
    return SiloSummary(
        name=name,
        examples=len(part),
        tasks=count_units(job, part) if _has_fixed_tasks(job) else None,
        labels=declared_labels(job, part),
        epsilon=ledger.stated_epsilon if ledger else None,
        budget=ledger.budget.epsilon if ledger else None,
        epsilon_of_one_example=as_kept(spent_on_one_example(job, ledger)),
        epsilon_alone=read_ledger(own).epsilon if own.is_file() else None,
        accuracy_alone=alone,
        accuracy_trained=trained,
        statement=statement_of(job, name, ledger),
    )


def _has_fixed_tasks(job: Job) -> bool:
    return isinstance(job.learner, Episodic) and job.learner.episodes == "fixed"


def privacy_of(ledgers: Ledgers) -> list[PrivacyMetric]:
    """What each silo's ledger says of each phase, or of each release of a query, and in total."""
    metrics = list[PrivacyMetric]()
    for name, ledger in ledgers.items():
        if ledger is None:
            metrics.append(PrivacyMetric(silo=name, phase="total", epsilon=None, delta=None))
            continue
        delta = ledger.budget.delta
        for phase in dict.fromkeys(charge.phase for charge in ledger.charges):
            alone = ledger.counted_of_phase(phase)
            events = [charge.event for charge in ledger.charges if charge.phase == phase]
            steps = sum(event.steps for event in events if isinstance(event, SampledGaussianSteps))
            multipliers = [
                event.noise_multiplier for event in events if isinstance(event, GaussianRelease | SampledGaussianSteps)
            ]
            rates = [event.sampling_rate for event in events if isinstance(event, SampledGaussianSteps)]
            metrics.append(
                PrivacyMetric(
                    silo=name,
                    phase=phase,
                    epsilon=alone.epsilon,
                    delta=delta,
                    accountant=alone.accountant,
                    noise_multiplier=min(multipliers, default=None),
                    sampling_rate=max(rates, default=None),
                    steps=steps or len(events),
                )
            )
        how = ledger.counted.accountant
        metrics.append(
            PrivacyMetric(silo=name, phase="total", epsilon=ledger.stated_epsilon, delta=delta, accountant=how)
        )
    return metrics


def _reference(stage: str, scores: Scores, measure: str) -> float | None:
    metric = scores.get((stage, None))
    return None if metric is None else metric.accuracy[measure]


def check_ledgers(run_dir: Path) -> None:
    """Check that the ledgers of a finished run, where they lie here, agree with its summary; else `SiloSealError`."""
    summary = read_run(run_dir).summary
    if summary.delta is None:
        return
    guarantee = guarantee_in(load_any_job(run_dir / "config.yaml"))
    for silo in summary.silos:
        path = silo_folder(run_dir, silo.name) / LEDGER_FILE
        if silo.budget is None or not path.is_file():
            continue
        with Ledger(path, silo=silo.name, budget=Budget(silo.budget, summary.delta), guarantee=guarantee) as ledger:
            if silo.epsilon is None or abs(ledger.stated_epsilon - silo.epsilon) > 1e-6:
                raise RunError(
                    f"{path} counts epsilon {ledger.stated_epsilon:.6f}, but summary.json says {silo.epsilon}; one of "
                    "them was altered: restore them from a backup"
                )
