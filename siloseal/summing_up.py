"""From what happened in a run to what its folder says: traffic, privacy, protection, honest notes, the summary."""

from pathlib import Path

from federation.accounting import MEANINGLESS_EPSILON
from federation.config.job import Job
from federation.config.privacy import NoPrivacy
from federation.errors import RunError
from federation.events import GaussianRelease, SampledGaussianSteps
from federation.phases import PHASE_1, WARM_START
from silo.data.labelled_images import LabelledImages
from silo.ledger import Budget, Ledger
from siloseal.finished import Finished
from siloseal.guarantees import Ledgers, Parts, parameters, protection
from siloseal.metrics import Metric, NoteMetric, PrivacyMetric
from siloseal.recorder import Recorder
from siloseal.run_folder import silo_folder
from siloseal.simulation import declared_labels
from siloseal.summary import RunSummary, SiloSummary, read_run, write_metrics

PHASE_2_GAIN = 0.02
"""What tuning should add within ten rounds; where it does not, the report says so."""


def sum_up(
    job: Job, run_dir: Path, parts: Parts, ledgers: Ledgers, finished: Finished, recorder: Recorder, *, seconds: float
) -> RunSummary:
    """Write the closing metrics and return the summary."""
    warnings = [*finished.notes]
    if recorder.resumed:
        warnings.append(
            "This run was interrupted and resumed: durations are those of its last part, and training that the "
            "interruption threw away stays charged."
        )
    notes = (*warnings, *_notes(job, recorder))
    metrics: list[Metric] = [*recorder.scores.values(), *finished.traffic, *recorder.timings()]
    metrics += [
        *_privacy(ledgers),
        *protection(job, finished),
        *(NoteMetric(text=text) for text in notes),
    ]
    write_metrics(run_dir, metrics)
    headline = job.evaluation.classifiers[0]
    accuracy = {
        stage: metric.accuracy[headline]
        for (stage, silo), metric in recorder.scores.items()
        if silo is None and stage != "real"
    }
    silos = [_silo(job, name, parts[name], ledgers[name], recorder) for name in parts]
    alone = [silo.accuracy_alone for silo in silos if silo.accuracy_alone is not None]
    spent = [silo.epsilon for silo in silos if silo.epsilon is not None]
    return RunSummary(
        name=job.name,
        accuracy=accuracy,
        best_silo_accuracy=max(alone, default=None),
        real_data_accuracy=recorder.scores["real", None].accuracy[headline],
        epsilon=max(spent, default=None),
        delta=None if isinstance(job.privacy, NoPrivacy) else job.privacy.delta,
        bytes=sum(entry.sent_bytes + entry.received_bytes for entry in finished.traffic),
        seconds=seconds,
        run_dir=str(run_dir),
        classifier=headline,
        silos=silos,
        parameters=parameters(job, parts, ledgers, finished),
        warnings=warnings,
    )


def _silo(job: Job, name: str, part: LabelledImages, ledger: Ledger | None, recorder: Recorder) -> SiloSummary:
    headline = job.evaluation.classifiers[0]
    scores = {stage: recorder.scores.get((stage, name)) for stage in ("silo_alone", "silo_trained")}
    alone, trained = (metric.accuracy[headline] if metric else None for metric in scores.values())
    return SiloSummary(
        name=name,
        examples=len(part),
        labels=declared_labels(job, part),
        epsilon=ledger.epsilon if ledger else None,
        budget=ledger.budget.epsilon if ledger else None,
        accuracy_alone=alone,
        accuracy_trained=trained,
        statement=_statement(name, ledger),
    )


def _statement(name: str, ledger: Ledger | None) -> str:
    if ledger is None:
        return f"{name}: no guarantee; privacy was switched off in the job."
    if ledger.epsilon > MEANINGLESS_EPSILON:
        return f"{name}: no meaningful guarantee; the ledger counts epsilon {ledger.epsilon:.0f}."
    return ledger.statement()


def _privacy(ledgers: Ledgers) -> list[PrivacyMetric]:
    metrics = list[PrivacyMetric]()
    for name, ledger in ledgers.items():
        if ledger is None:
            metrics.append(PrivacyMetric(silo=name, phase="total", epsilon=None, delta=None))
            continue
        delta = ledger.budget.delta
        for phase in dict.fromkeys(charge.phase for charge in ledger.charges):
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
                    epsilon=ledger.epsilon_of_phase(phase),
                    delta=delta,
                    noise_multiplier=min(multipliers, default=None),
                    sampling_rate=max(rates, default=None),
                    steps=steps or len(events),
                )
            )
        metrics.append(PrivacyMetric(silo=name, phase="total", epsilon=ledger.epsilon, delta=delta))
    return metrics


def _notes(job: Job, recorder: Recorder) -> list[str]:
    """What a reader should know before trusting the numbers, the disappointments included."""
    headline = job.evaluation.classifiers[0]
    score = {key: metric.accuracy[headline] for key, metric in recorder.scores.items()}
    notes = [
        "Accuracies are the experimenter's measurements in a simulation: tested on held-out real data that no silo "
        "trained on; the real-data number and the Frechet yardstick come from classifiers trained on the pooled "
        "training data. All of that is outside the privacy guarantee, and nothing of it flows back into training.",
        "Which classes a silo declares and how many examples it has count as public here.",
    ]
    if job.evaluation.silo_alone:
        notes.append(
            "The runs of each silo alone are a comparison: they spend the same epsilon on the same data once more, in "
            "ledgers of their own, and are not part of the guarantee. evaluation.silo_alone switches them off."
        )
    trained = [value for (stage, _), value in score.items() if stage == "silo_trained"]
    average = score.get((PHASE_1, None))
    if trained and average is not None:
        verb = "beats" if average > max(trained) else "does not beat"
        notes.append(
            f"The average ({average:.3f}) {verb} the best silo's own model after phase 1 ({max(trained):.3f})."
        )
    rounds = [score[f"round_{n}", None] for n in range(1, 11) if (f"round_{n}", None) in score]
    if average is not None and rounds:
        gain = rounds[-1] - average
        verdict = "adds" if gain >= PHASE_2_GAIN else f"does not add the {PHASE_2_GAIN} that it should:"
        notes.append(f"Phase 2 {verdict} {gain:+.3f} within its first {len(rounds)} rounds.")
    warm = score.get((WARM_START, None))
    if warm is not None and average is not None and warm > average:
        notes.append(f"The warm start alone ({warm:.3f}) is better than the phase 1 average ({average:.3f}).")
    return notes


def check_ledgers(run_dir: Path) -> None:
    """The ledgers of a finished run, where they lie here, say what its summary says; `SiloSealError` if not."""
    summary = read_run(run_dir).summary
    for silo in summary.silos:
        path = silo_folder(run_dir, silo.name) / "ledger.jsonl"
        if silo.budget is None or summary.delta is None or not path.is_file():
            continue
        with Ledger(path, silo=silo.name, budget=Budget(silo.budget, summary.delta)) as ledger:
            if silo.epsilon is None or abs(ledger.epsilon - silo.epsilon) > 1e-6:
                raise RunError(
                    f"{path} counts epsilon {ledger.epsilon:.6f}, but summary.json says {silo.epsilon}; one of them "
                    "was altered: restore them from a backup"
                )
