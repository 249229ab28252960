"""From what happened in a run to what its folder says: traffic, privacy, protection, honest notes, the summary."""

from collections.abc import Mapping
from pathlib import Path

from federation.accounting import MEANINGLESS_EPSILON, RENYI, epsilon_text, tightest_epsilon
from federation.config.job import Job
from federation.config.privacy import NoPrivacy, SiloLevel
from federation.config.schedule import FedAvg, TwoPhase
from federation.config.warm_start import KernelMeanStart, LeaderStart
from federation.contributions import model_domain, model_scheme, sketch_domain, sketch_scheme
from federation.errors import RunError
from federation.events import GaussianRelease, SampledGaussianSteps
from federation.phases import FEDAVG, PHASE_1, PHASE_2, WARM_START
from federation.planning import Lengths, plan_silo
from federation.secure_sum import SecureSum
from federation.session import RealDomain
from models.building import feature_map, vector_lengths
from silo.data.labelled_images import LabelledImages
from silo.ledger import RELATION, Budget, Ledger
from silo.promises import promise_of
from siloseal.finished import Finished
from siloseal.metrics import Metric, NoteMetric, PrivacyMetric, ProtectionMetric, phase_title
from siloseal.recorder import Recorder
from siloseal.run_folder import silo_folder
from siloseal.simulation import declared_labels
from siloseal.summary import RunSummary, SiloSummary, read_run, write_metrics

Ledgers = Mapping[str, Ledger | None]
Parts = Mapping[str, LabelledImages]

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
        *_protection(job, _lengths(job, finished)),
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
        parameters=_parameters(job, parts, ledgers, finished),
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


def _protection(job: Job, lengths: Lengths) -> list[ProtectionMetric]:
    model = lengths.model
    uploads = list[tuple[str, str, SecureSum]]()
    if isinstance(job.warm_start, KernelMeanStart):
        uploads.append((WARM_START, "kernel mean of each silo", sketch_scheme(job, lengths.sketch)))
    elif isinstance(job.warm_start, LeaderStart):
        uploads.append((WARM_START, f"generator of {job.warm_start.silo}", model_scheme(job, WARM_START, model)))
    match job.schedule:
        case TwoPhase(tuning_rounds=rounds):
            uploads.append((PHASE_1, "generator and size of each silo", model_scheme(job, PHASE_1, model)))
            if rounds:
                uploads.append((PHASE_2, "tuned generator and size of each silo", model_scheme(job, PHASE_2, model)))
        case FedAvg():
            uploads.append((FEDAVG, "both networks and size of each silo", model_scheme(job, FEDAVG, model)))
    return [
        ProtectionMetric(
            stage=stage,
            what=what,
            scheme=scheme.name,
            hidden_from_aggregator=scheme.hides_contributions,
            note="the aggregator learns the sum only" if scheme.hides_contributions else _exposure(job),
        )
        for stage, what, scheme in uploads
    ]


def _exposure(job: Job) -> str:
    protected = not isinstance(job.privacy, NoPrivacy)
    rest = "it is differentially private, sizes aside" if protected else "and nothing else protects it"
    return f"in clear: the aggregator sees each silo's upload and size; {rest}"


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


def _parameters(job: Job, parts: Parts, ledgers: Ledgers, finished: Finished) -> dict[str, str]:
    plans = [plan_silo(job, name, len(part), _lengths(job, finished)) for name, part in parts.items()]
    parameters = {"parameters of the shared model": f"{finished.parameters:,}", **_sums(job, finished)}
    if isinstance(job.privacy, NoPrivacy):
        return {**parameters, "privacy": "off"}
    promise = promise_of(job)
    words = {
        "unit of privacy": promise.unit,
        "neighbouring relation": RELATION,
        "accountant": _accountant([ledger for ledger in ledgers.values() if ledger is not None]),
        "noise": promise.noise,
        "clip norm": f"{job.privacy.clip_norm:g}",
    }
    if isinstance(job.privacy, SiloLevel):
        return {**parameters, **words}
    noise = [plan.step_noise for plan in plans if plan.step_noise is not None]
    rates = [plan.sampling_rate for plan in plans]
    return {
        **parameters,
        **words,
        "sampling": f"Poisson, rate {min(rates):.4f} to {max(rates):.4f}, from the operating system's generator",
        "noise multiplier of a step": f"{min(noise):.3f} to {max(noise):.3f}" if noise else "no steps",
        "noise of a step": "Gaussian, single precision, AES-256 keyed by the operating system",
    }


def _accountant(ledgers: list[Ledger]) -> str:
    """What the ledgers enforce, and what a tighter and slower count makes of the largest of them."""
    words = "Renyi (dp-accounting), one composition over all phases"
    largest = max(ledgers, key=lambda ledger: ledger.epsilon)
    epsilon, how = tightest_epsilon([charge.event for charge in largest.charges], largest.budget.delta)
    return words if how == RENYI else f"{words}; {how} count epsilon {epsilon_text(epsilon)} for {largest.silo}"


def _lengths(job: Job, finished: Finished) -> Lengths:
    return vector_lengths(job, finished.image_shape, finished.classes)


def _sums(job: Job, finished: Finished) -> dict[str, str]:
    """What the protection of each phase's sum rests on."""
    silos, crowd = len(job.silos.names), job.schedule.crowd(len(job.silos.names))
    model = model_domain(job, finished.parameters)
    used = list[tuple[str, SecureSum, RealDomain, int]]()
    if isinstance(job.warm_start, KernelMeanStart):
        features = feature_map(job, job.warm_start, finished.image_shape, finished.classes)
        used.append((WARM_START, sketch_scheme(job, features.length), sketch_domain(job, features.length), silos))
    match job.schedule:
        case TwoPhase(tuning_rounds=rounds):
            phases = (PHASE_1, PHASE_2) if rounds else (PHASE_1,)
        case FedAvg():
            phases = (FEDAVG,)
    used += [(phase, model_scheme(job, phase, finished.parameters), model, crowd) for phase in phases]
    rows = dict[str, str]()
    for phase, scheme, domain, count in used:
        title = f"sum of {phase_title(phase).lower()}"
        rows[title] = scheme.name
        rows |= {f"{title}, {name}": value for name, value in scheme.describe(domain, count).items()}
    return rows


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
