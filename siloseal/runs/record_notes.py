"""What a reader should know of a classifier's numbers: whom federating helped, whom not, and which classes fail."""

import statistics
from collections.abc import Mapping

from siloseal.run_folder.chance import FALSE_ALARMS, chance_of_lower
from siloseal.run_folder.classification import ClassificationMetric
from siloseal.run_folder.metrics import QualityMetric

Scores = Mapping[tuple[str, str | None], QualityMetric]

MISSED = 0.5
"""Recall below which most records of a class are taken for something else."""
MOST_LISTED = 8


def notes_of_gains(scores: Scores, measure: str, *, personal: bool) -> list[str]:
    """What federating is worth against the silos alone, and what it costs against everybody's records in one place.

    The best silo says nothing where each is measured on records of its own mix.
    """
    final = scores.get(("final", None))
    if final is None:
        return []
    reached, notes = final.accuracy[measure], list[str]()
    alone = {silo: score.accuracy[measure] for (stage, silo), score in scores.items() if stage == "silo_alone" and silo}
    if alone:
        best, mean = max(alone, key=alone.__getitem__), statistics.fmean(alone.values())
        over_best = f"{reached - alone[best]:+.3f} over the best silo alone ({best}, {alone[best]:.3f}), and by "
        over_mean = f"{reached - mean:+.3f} over the mean silo alone ({mean:.3f})"
        notes.append(f"Federating changes {measure} by {'' if personal else over_best}{over_mean}.")
    if (pooled := scores.get(("pooled", None))) is not None:
        gap = pooled.accuracy[measure] - reached
        notes.append(f"Pooling everybody's records in one place, without privacy, would change it by {gap:+.3f}.")
    return notes


def notes_of_classes(scores: Scores) -> list[str]:
    """The worst silo, silos that lose, classes that are missed, and whether confidence can be believed."""
    details = None if (final := scores.get(("final", None))) is None else final.classification
    if details is None:
        return []
    notes = list[str]()
    if (worst := details.worst_silo) is not None:
        notes.append(
            f"The model serves {worst} worst: {details.by_silo[worst]:.3f} on its {details.measured_on}, "
            f"{details.spread:.3f} below the silo that it serves best."
        )
    notes += _losers(scores, details)
    missed = [
        f"{label} ({value:.2f})" for label, value in enumerate(details.recall) if value is not None and value < MISSED
    ]
    if missed:
        notes.append(
            f"Most records of {len(missed)} of {len(details.recall)} classes are taken for something else; class and "
            f"recall: {_some(missed)}."
        )
    notes.append(
        f"Expected calibration error {details.calibration_error:.3f}: the model's confidence is that far from its "
        "accuracy, on average. Do not read confidence as a probability unless that is little."
    )
    return notes


def _losers(scores: Scores, details: ClassificationMetric) -> list[str]:
    """Silos whose own models, without the others, serve their own records or mix of classes better than by chance.

    Both models are measured on the same records, on which they are mostly right and wrong together; as if these were
    two independent sets, the test is conservative.
    """
    served, alone = details.by_silo, _alone(scores)
    compared, lost = [silo for silo in alone if details.silo_records.get(silo) and silo in served], list[str]()
    for silo in compared:
        records = details.silo_records[silo]
        chance = chance_of_lower(served[silo], records, than=alone[silo], of=records)
        if len(compared) * chance <= FALSE_ALARMS:
            lost.append(f"{silo} ({alone[silo]:.3f} against {served[silo]:.3f})")
    if not lost:
        return []
    return [f"On its {details.measured_on}, a model of its own would serve better: {_some(sorted(lost))}."]


def _alone(scores: Scores) -> dict[str, float]:
    """The accuracy of each silo's model without the others, for the silo itself, where it was measured."""
    found = {silo: score.classification for (stage, silo), score in scores.items() if stage == "silo_alone" and silo}
    return {silo: own.by_silo[silo] for silo, own in found.items() if own is not None and silo in own.by_silo}


def _some(words: list[str]) -> str:
    more = f" and {len(words) - MOST_LISTED} more" if len(words) > MOST_LISTED else ""
    return ", ".join(words[:MOST_LISTED]) + more
