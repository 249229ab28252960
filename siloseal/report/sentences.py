"""What the report says in sentences: how to read it, and what holds for every run."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from siloseal.federation.privacy.epsilon import epsilon_text, protects
from siloseal.federation.privacy.guarantee import for_one_example, in_short
from siloseal.report import wording
from siloseal.report.classifier_words import own_learnt, records_learnt
from siloseal.report.document import Alert
from siloseal.report.score_table import chance, headline, ways_and_shots
from siloseal.run_folder.metrics import ProtectionMetric
from siloseal.run_folder.summary import RunSummary, as_number

_ONE_SEED = "One run with one seed: nothing here says how much another seed would differ."
_ONE_SEED_OF_TASKS = (
    "One run with one seed: differences smaller than the two margins together should be read as equal. The intervals "
    "are over tasks, not over training runs."
)


def guide(summary: RunSummary) -> str:
    """A few sentences for the person who answers for the data."""
    if summary.answers is not None:
        return f"{_asked(summary)} {privacy_sentence(summary)}"
    if summary.at_aggregator:
        return f"{_aggregated(summary)} {privacy_sentence(summary)}"
    return f"{_learnt(summary)} {privacy_sentence(summary)}"


def _learnt(summary: RunSummary) -> str:
    match summary.measured_as:
        case "generated":
            return _images_learnt(summary)
        case "few_shot":
            return _tasks_learnt(summary)
        case "classification":
            return records_learnt(summary)
        case "own":
            return own_learnt(summary)
        case _:
            assert_never(summary.measured_as)


def _asked(summary: RunSummary) -> str:
    return (
        f"{len(summary.silos)} institutions counted in their own records, and each kept them in its own house: what "
        "travelled are noised counts, of which only the totals over all institutions were seen."
    )


def _aggregated(summary: RunSummary) -> str:
    return (
        f"{len(summary.silos)} institutions trained one model, and each kept its own records in its own house. This "
        "report is the aggregator's, which has seen none of them: how good the model is has to be measured where "
        "records are."
    )


def _images_learnt(summary: RunSummary) -> str:
    together = (
        f"{len(summary.silos)} institutions trained one model that draws artificial images, and each kept its own "
        "records in its own house: only models and statistics travelled."
    )
    alone = (
        ""
        if summary.best_silo_accuracy is None
        else f"{wording.share(summary.best_silo_accuracy)} for the best institution on its own, "
    )
    quality = (
        "Accuracy is how often a program that has seen only artificial images names real, unseen ones rightly: "
        f"{wording.share(summary.final_accuracy)} for the joint model, {alone}"
        f"and {wording.share(summary.real_data_accuracy)} with real records instead."
    )
    return f"{together} {quality}"


def _tasks_learnt(summary: RunSummary) -> str:
    together = (
        f"{len(summary.silos)} institutions trained one model that learns to tell new kinds of images apart from a few "
        "examples, and each kept its own records in its own house: only models and sizes travelled."
    )
    ways, shots = ways_and_shots(summary.classifier)
    compared = {
        "for the joint model": summary.final_accuracy,
        "for the best institution on its own": summary.best_silo_accuracy,
        "for a model trained on all images in one place, without privacy": summary.pooled_accuracy,
    }
    words = [f"{wording.percent(value)} {whose}" for whose, value in compared.items() if value is not None]
    quality = (
        f"Accuracy, {summary.classifier}, is how often the model names an image rightly once it has seen {shots} "
        f"labelled {'example' if shots == 1 else 'examples'} of each of {ways} kinds, none of which anybody trained "
        f"on, where guessing would be right {chance(summary)} of the time: "
        f"{wording.listed(words) or wording.NOT_MEASURED}."
    )
    return f"{together} {quality}"


def privacy_sentence(summary: RunSummary) -> str:
    """What epsilon means here, without comfort that it does not give."""
    if summary.epsilon is None or summary.delta is None:
        return "Differential privacy was off, so nothing bounds what the model may reveal about a single record."
    unit = unit_of(summary)
    if not protects(summary.epsilon):
        return (
            f"Epsilon bounds what can be learnt about {unit}, but at {summary.epsilon:.0f} the bound is "
            "too weak to mean anything: treat what was released as if it had no such guarantee."
        )
    again = spent_on_silos_alone(summary)
    factor = math.ceil(100 * math.exp(summary.epsilon)) / 100
    aside = "," if "," in unit else ""  # closes what the unit's own comma opened
    return (
        f"Epsilon {wording.epsilon(summary.epsilon)} bounds what can be learnt about {unit}{aside} from what "
        f"was released: its presence changes the odds of any outcome at most {factor:,.{2 if factor < 10 else 0}f}-fold"
        f" (delta {wording.delta(summary.delta)} aside), so smaller is safer, and about 1 counts as strong."
        f"{'' if again is None else f' {again}'}"
    )


def unit_of(summary: RunSummary) -> str:
    """The unit of privacy of a run."""
    return summary.parameters.get("unit of privacy", "one example")


def one_example_line(summary: RunSummary) -> str | None:
    """What one example costs where the protected unit is another."""
    epsilon = as_number(summary.epsilon_of_one_example)
    return None if epsilon is None or summary.delta is None else for_one_example(epsilon, summary.delta)


@dataclass(frozen=True, slots=True)
class WithAlone:
    """What one silo spends in the federation and, on the same examples, when it is trained alone for comparison."""

    together: float
    alone: float
    delta: float

    @property
    def both(self) -> tuple[float, float]:
        """Epsilon and delta of both, which add up (basic composition)."""
        return self.together + self.alone, 2 * self.delta

    def said(self, *, unit: str) -> str:
        """What it costs to train the silo alone as well. The scores of its model follow from the model."""
        same = epsilon_text(self.together) == epsilon_text(self.alone)
        more = "the same epsilon once more" if same else f"epsilon {epsilon_text(self.alone)} besides"
        return (
            f"Training silos alone, for comparison, spends {more}. For whoever sees those models or their scores as "
            f"well, it is {in_short(*self.both, protected=unit)}."
        )


def most_with_alone(spent: Iterable[WithAlone]) -> WithAlone | None:
    """The silo that spends most; None where none is trained alone."""
    return max(spent, key=lambda one: one.both, default=None)


def spent_on_silos_alone(summary: RunSummary) -> str | None:
    """A sentence where silos were trained alone as well, with privacy, which costs epsilon as well."""
    most = most_with_alone(
        WithAlone(silo.epsilon, silo.budget if silo.epsilon_alone is None else silo.epsilon_alone, summary.delta)
        for silo in summary.silos
        if silo.accuracy_alone is not None
        and silo.epsilon is not None
        and silo.budget is not None
        and summary.delta is not None
    )
    return None if most is None else most.said(unit=unit_of(summary))


def upload_alerts(uploads: Sequence[ProtectionMetric]) -> tuple[Alert, ...]:
    """A warning where the aggregator could read what a single silo sent."""
    shown = "; ".join(upload.what for upload in uploads if not upload.hidden_from_aggregator)
    text = f"the aggregator could read single silos' uploads ({shown})."
    return (Alert("Not hidden:", text, "uploads"),) if shown else ()


def uploads_line(uploads: Sequence[ProtectionMetric]) -> str:
    """One line about what the aggregator could read of single silos' uploads, also where that is nothing."""
    if not uploads:
        return "Uploads: none recorded."
    hidden = "Hidden: the aggregator could read no single silo's upload."
    return next((f"{alert.title} {alert.text}" for alert in upload_alerts(uploads)), hidden)


def lost_to_a_silo(summary: RunSummary) -> str | None:
    """A sentence where the global model is no better than what one silo has without the others."""
    final, best = summary.final_accuracy, summary.best_silo_accuracy
    if final is None or best is None or final > best or summary.personal:  # whose own models know their own mixes
        return None
    ours, theirs = f"{final:.3f}", f"{best:.3f}"
    if summary.few_shot:
        ours, theirs = headline(summary, "final"), headline(summary, "silo_alone")
    return f"In this run the global model ({ours}) did not beat the best silo alone ({theirs})."


def standing_notes(summary: RunSummary) -> list[str]:
    """What holds for every run of its kind, beside what the run itself noted."""
    if summary.at_aggregator or summary.answers is not None:
        return []
    if summary.few_shot:
        return [_ONE_SEED_OF_TASKS if any(score.margin for score in summary.scores) else _ONE_SEED]
    if summary.measured_as != "generated":
        return [_ONE_SEED]
    return [
        _ONE_SEED,
        "The Fréchet distance uses a small classifier's features. It is not the FID of the literature, and compares "
        "only within one run.",
    ]
