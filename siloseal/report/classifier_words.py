"""What a report says of a classifier, or of a model with a measure of its own, in sentences and at its top."""

import statistics

from siloseal.report import wording
from siloseal.report.classifier_tables import class_name, missed_classes
from siloseal.report.document import Headline
from siloseal.run_folder.summary import RunSummary

MOST_NAMED = 5


def record_headlines(summary: RunSummary) -> tuple[Headline, ...]:
    """How many records are named rightly, and for whom least."""
    final = wording.share(summary.final_accuracy)
    what = f"mean over silos, each on its {measured_on(summary)}" if summary.personal else "share of held-out records"
    return (
        Headline("Accuracy" if summary.personal else "Accuracy, global model", final, what, main=True),
        *_worst(summary),
        Headline(*_alone(summary), "accuracy without the others"),
        Headline("Pooled, without privacy", wording.share(summary.pooled_accuracy), "all records in one place"),
    )


def measured_on(summary: RunSummary) -> str:
    """What of its own each silo's model is measured on; nothing is known of it where nothing was measured."""
    return wording.NOT_KNOWN if summary.details is None else summary.details.measured_on


def _alone(summary: RunSummary) -> tuple[str, str]:
    """What silos have without the others: the best of them, or the mean where each is measured on its own."""
    if summary.personal:
        return "Mean silo alone", wording.share(mean_alone(summary))
    return "Best silo alone", wording.share(summary.best_silo_accuracy)


def mean_alone(summary: RunSummary) -> float | None:
    """The mean accuracy of the silos' models without the others, where they were measured."""
    alone = [silo.accuracy_alone for silo in summary.silos if silo.accuracy_alone is not None]
    return statistics.fmean(alone) if alone else None


def own_headlines(summary: RunSummary) -> tuple[Headline, ...]:
    """The learner's own measure."""
    if not summary.accuracy:
        return (Headline("Global model", wording.NOT_MEASURED, "the learner has no measure", main=True),)
    return (
        Headline("Global model", wording.share(summary.final_accuracy), summary.classifier, main=True),
        Headline("Best silo alone", wording.share(summary.best_silo_accuracy), "without the others"),
        Headline("Pooled, without privacy", wording.share(summary.pooled_accuracy), "all records in one place"),
    )


def _worst(summary: RunSummary) -> tuple[Headline, ...]:
    details = summary.details
    if details is None or details.worst_silo is None:
        return ()
    worst = details.worst_silo
    note = f"{worst}; best minus worst {details.spread:.3f}"
    return (Headline("Worst served silo", wording.share(details.by_silo[worst]), note),)


def records_learnt(summary: RunSummary) -> str:
    """What the silos have learnt, for the person who answers for the data."""
    together = (
        f"{len(summary.silos)} institutions trained one model that names the class of a record, and each kept its own "
        "records in its own house: only models and sizes travelled."
    )
    return " ".join([together, _named_rightly(summary), *_served(summary), *_missed(summary)])


def own_learnt(summary: RunSummary) -> str:
    """What a learner of the user's own says of itself."""
    together = (
        f"{len(summary.silos)} institutions trained one model, and each kept its own records in its own house: only "
        "models and sizes travelled."
    )
    if not summary.accuracy:
        return f"{together} How good it is was not measured: the learner has no measure of its own."
    return f"{together} Its own measure, from 0 to 1, on records that nobody trained on: {_compared(summary)}."


def _named_rightly(summary: RunSummary) -> str:
    if summary.personal:
        return (
            "Each has a part of the model for itself alone. Accuracy is how often an institution's own model names "
            f"unseen records rightly, on its {measured_on(summary)}, on average: {_compared(summary)}."
        )
    return f"Accuracy is how often the model names a record rightly that nobody trained on: {_compared(summary)}."


def _compared(summary: RunSummary) -> str:
    alone = {"for the best institution on its own": summary.best_silo_accuracy}
    compared = {
        f"for the {'models trained together' if summary.personal else 'joint model'}": summary.final_accuracy,
        **({"for institutions on their own": mean_alone(summary)} if summary.personal else alone),
        "for a model trained on all records in one place, without privacy": summary.pooled_accuracy,
    }
    words = [f"{wording.share(value)} {whose}" for whose, value in compared.items() if value is not None]
    return wording.listed(words) or wording.NOT_MEASURED


def _served(summary: RunSummary) -> list[str]:
    details = summary.details
    if details is None or details.worst_silo is None:
        return []
    worst, best = details.worst_silo, max(details.by_silo, key=details.by_silo.__getitem__)
    return [
        f"It serves {worst} worst ({details.by_silo[worst]:.3f}) and {best} best ({details.by_silo[best]:.3f}), by the "
        "kinds of records that each of them has."
    ]


def _missed(summary: RunSummary) -> list[str]:
    if missed := missed_classes(summary):
        some = wording.listed(missed[:MOST_NAMED])
        more = f" and {len(missed) - MOST_NAMED} more" if len(missed) > MOST_NAMED else ""
        return [f"It misses most records of these classes, and finds this share of them: {some}{more}."]
    recall = [] if summary.details is None else summary.details.recall
    known = [(value, label) for label, value in enumerate(recall) if value is not None]
    if not known:
        return []
    least, label = min(known)
    return [
        f"No class is missed: it finds {least:.3f} of the records of class {class_name(summary, label)}, the hardest."
    ]
