"""What a reader should know before trusting a run's numbers, the disappointments included."""

from collections import Counter
from collections.abc import Mapping
from typing import assert_never

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.sections.evaluation import Classification, FewShotTasks, GeneratedImages, OwnMeasures
from siloseal.federation.job.sections.few_shot import Episodic
from siloseal.federation.job.sections.privacy import NoPrivacy
from siloseal.runs.record_notes import Scores, notes_of_classes, notes_of_gains
from siloseal.runs.scoring import headline

PHASE_2_GAIN = 0.02
"""Accuracy that tuning should add to a generator within ten rounds; where it does not, the report says so."""

_IMAGES = (
    "Accuracies are measured by an experimenter, who has all data: on held-out real images that no silo trained on; "
    "the real-data number and the Fréchet distance come from classifiers trained on the pooled training data. All of "
    "that is outside the privacy guarantee, and nothing of it flows back into training."
)
_TASKS = (
    "Accuracies are measured by an experimenter, who has all data: on tasks of held-out classes, none of which any "
    "silo trained on, the same tasks for every model. They are outside the privacy guarantee, as is pooled training, "
    "and nothing of them flows back into training."
)
_RECORDS = (
    "Accuracies are measured by an experimenter, who has all data: on held-out records that no silo trained on. They "
    "are outside the privacy guarantee, as is pooled training, and nothing of them flows back into training."
)
_MIXES = (
    "A silo's mix of classes is that of its own records. The accuracy on it is the recall of each class by the silo's "
    "share of the class: exact for silos that differ in their mix of classes and in nothing else, which is how a "
    "simulation deals records of one set. Institutions differ in more, and should measure on their own records."
)
_OWN_RECORDS = (
    "Every silo has a file of its own, and is measured on records of it that nobody trained on. Few of them say "
    "little: with 25 held-out records, each of them is 0.04 of a silo's accuracy."
)
_PERSONAL = (
    "Every silo has a part of the model of its own (learner.local), so there is no whole global model to measure. Each "
    "silo's own final model is measured on the silo's {own}, and the headline is the mean over silos."
)
_NO_MEASURE = (
    "The learner has no method `measure`, so nothing was measured, and nothing was trained to be compared with. "
    "docs/own-learner.md says what it looks like."
)
_SIZES = "Which classes a silo declares and how many examples it has count as public here."
_TASK_SIZES = (
    "Training tasks are formed by labels: which classes a silo has and how many images of each count as public."
)
_ALONE = (
    "The runs of each silo alone are a comparison: they spend epsilon on the same data besides, in ledgers of "
    "their own, and are not part of the guarantee. evaluation.silo_alone switches them off."
)


_AT_AGGREGATOR = (
    "This is the aggregator's own report. It holds no data and no ledger: how good the model is, how many examples and "
    "which classes a silo has, and what a silo has spent exactly are not in it."
)
_QUERIES_AT_AGGREGATOR = (
    "This is the aggregator's own report. It holds no records and no ledger: how many records a silo has, and what its "
    "ledger says, are not in it."
)
_REPORTED = (
    "Epsilon is what a silo said that it had spent when it last trained, rounded up to a twentieth of its budget, or "
    "the whole budget where that would not cover what it released later. Each silo's own ledger is exact."
)


QUERY_NOTES = (
    "Each query has its answer with an interval that holds the noise, each on its own; where many are read together, "
    "one in twenty may miss.",
    "Epsilon is what all queries together cost at most. What other runs on the same records cost comes on top.",
)


def aggregator_notes(job: AnyJob) -> list[str]:
    """What a reader of a deployed aggregator's report has to know."""
    if isinstance(job, AnalyticsJob):
        return [_QUERIES_AT_AGGREGATOR, *QUERY_NOTES]
    return [_AT_AGGREGATOR] if isinstance(job.privacy, NoPrivacy) else [_AT_AGGREGATOR, _REPORTED]


def run_notes(job: Job, scores: Scores) -> list[str]:
    """The notes for the report, in the order of the run."""
    sizes = [_TASK_SIZES if isinstance(job.learner, Episodic) else _SIZES]
    sizes += [_ALONE] if job.evaluation.silo_alone and not isinstance(job.privacy, NoPrivacy) else []
    match job.evaluation:
        case GeneratedImages():
            return [_IMAGES, *sizes, *_of_images(scores, headline(job))]
        case FewShotTasks():
            return [_TASKS, *sizes, *_of_tasks(scores, headline(job))]
        case Classification():
            personal = job.learner.personal
            how = [_RECORDS, *_of_silos(scores, personal=personal)]
            gains = notes_of_gains(scores, headline(job), personal=personal)
            return [*how, *sizes, *gains, *notes_of_classes(scores)]
        case OwnMeasures() if not scores:
            return [_NO_MEASURE, _SIZES]
        case OwnMeasures():
            return [_RECORDS, *sizes, *notes_of_gains(scores, headline(job), personal=False)]
        case _:
            assert_never(job.evaluation)


def notes_of_slow_steps(rows_alone: Mapping[str, str], *, of: int) -> list[str]:
    """Why private steps were slow at some of the silos, or at all."""
    return [
        f"Private steps took one row at a time at {silos} of {of} silos, which is slow: {why}."
        for why, silos in Counter(rows_alone.values()).items()
    ]


def _of_silos(scores: Scores, *, personal: bool) -> list[str]:
    """What each silo is measured on."""
    details = None if (final := scores.get(("final", None))) is None else final.classification
    if details is None:
        return []
    return [
        *([_PERSONAL.format(own=details.measured_on)] if personal else []),
        _OWN_RECORDS if details.own_records else _MIXES,
    ]


def _of_images(scores: Scores, measure: str) -> list[str]:
    score, notes = {key: metric.accuracy[measure] for key, metric in scores.items()}, list[str]()
    trained = [value for (stage, _), value in score.items() if stage == "silo_trained"]
    average = score.get((Phase.PHASE_1, None))
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
    warm = score.get((Phase.WARM_START, None))
    if warm is not None and average is not None and warm > average:
        notes.append(f"The warm start alone ({warm:.3f}) is better than the phase 1 average ({average:.3f}).")
    return notes


def _of_tasks(scores: Scores, measure: str) -> list[str]:
    """Differences of accuracies, and whether each is within the margins of the two."""
    compared = [
        ("Training and averaging", (Phase.PHASE_1, None), (Phase.WARM_START, None)),
        ("Tuning", ("final", None), (Phase.PHASE_1, None)),
        ("Federating, over the best silo alone,", ("final", None), _best(scores, "silo_alone", measure)),
        ("Pooling everybody's images without privacy", ("pooled", None), ("final", None)),
    ]
    notes = list[str]()
    for what, one, other in compared:
        if one in scores and other in scores:
            gain = scores[one].accuracy[measure] - scores[other].accuracy[measure]
            margin = scores[one].margin[measure] + scores[other].margin[measure]
            words = "" if abs(gain) > margin else ", which is within the margins of the two"
            notes.append(f"{what} changes {measure} accuracy by {100 * gain:+.1f} points{words}.")
    return notes


def _best(scores: Scores, stage: str, measure: str) -> tuple[str, str | None]:
    found = [key for key in scores if key[0] == stage]
    return max(found, key=lambda key: scores[key].accuracy[measure], default=(stage, None))
