"""What federating is worth and what privacy costs: every measurement of a run that draws no images, as rows.

The terminal and the report draw the same rows; only the terminal leaves out rounds where there are many.
"""

import itertools
import math
import re
from typing import assert_never

from siloseal.federation.errors import RunError
from siloseal.federation.job.phases import Phase
from siloseal.report import wording
from siloseal.report.classifier_words import measured_on
from siloseal.report.document import Table
from siloseal.run_folder.metrics import REFERENCES, QualityMetric, stage_title
from siloseal.run_folder.summary import RunSummary

TITLE = "The value of federating and the price of privacy"


def score_table(summary: RunSummary, *, title: str = TITLE, most_rounds: int | None = None) -> Table:
    """Every measurement, in groups; of more than `most_rounds` rounds only some.

    The groups are the global model over time, the silos' own models, and the pooled one. None of them is empty.
    """
    measures = tuple(dict.fromkeys(name for score in summary.scores for name in score.accuracy))
    shared = _global_models(summary)
    rounds = [score.stage for score in shared if score.stage.startswith("round_")]
    every = _stride(len(rounds), most_rounds)
    shown = {stage for n, stage in enumerate(rounds, start=1) if n in (1, len(rounds)) or n % every == 0}
    kept = [score for score in shared if score.stage in shown or score.stage not in rounds]
    groups = [
        [(_global_title(score, summary, last=score is shared[-1]), score) for score in kept],
        _silo_models(summary),
        [(stage_title(score.stage), score) for score in summary.scores if score.stage == "pooled"],
    ]
    starts = itertools.accumulate(map(len, groups), initial=0)
    write = cell if summary.few_shot else bare
    rows = [(name, *(write(score, measure) for measure in measures)) for group in groups for name, score in group]
    return Table(
        title,
        ("Model", *measures),
        tuple(rows),
        numbers=tuple(range(1, 1 + len(measures))),
        note=_note(summary, rounds=len(rounds), every=every),
        groups=tuple(start for start, group in zip(starts, groups, strict=False) if group),
    )


def headline(summary: RunSummary, stage: str) -> str:
    """The best model of a stage by the measure that stands for all of them, with its margin."""
    measure = summary.classifier
    found = [score for score in summary.scores if score.stage == stage and measure in score.accuracy]
    best = max(found, key=lambda score: score.accuracy[measure], default=None)
    return wording.percent(None) if best is None else cell(best, measure)


def stage_name(stage: str, summary: RunSummary) -> str:
    """A stage as a person reads it: what a run starts from is warm where it is a generator, and need not be else."""
    if stage != Phase.WARM_START or summary.measured_as == "generated":
        return stage_title(stage)
    fedavg = Phase.PHASE_1 not in summary.accuracy and "round_1" in summary.accuracy
    return "Before round 1" if fedavg else "Before phase 1"


def ways_and_shots(measure: str) -> tuple[int, int]:
    """Number of classes of a task, and number of labelled images of each of them."""
    found = re.fullmatch(r"([1-9]\d*)-way ([1-9]\d*)-shot", measure)
    if found is None:
        raise RunError(
            f"summary.json has {measure!r} as the kind of tasks; expected one like 5-way 1-shot; run the job again, or "
            "restore the file"
        )
    return int(found[1]), int(found[2])


def chance(summary: RunSummary) -> str:
    """The share of guesses that are right."""
    ways, _ = ways_and_shots(summary.classifier)
    return wording.percent(1 / ways)


def _global_models(summary: RunSummary) -> list[QualityMetric]:
    """The global models in order; the final one is the last, and has a row only where its numbers are others."""
    models = [score for score in summary.scores if score.silo is None and score.stage not in REFERENCES]
    if len(models) > 1 and models[-1].stage == "final" and models[-1].accuracy == models[-2].accuracy:
        return models[:-1]
    return models


def _global_title(score: QualityMetric, summary: RunSummary, *, last: bool) -> str:
    title = "Mean over silos" if summary.personal and last else stage_name(score.stage, summary)
    return f"{title}, final" if last and title != "Final" else title


def _silo_models(summary: RunSummary) -> list[tuple[str, QualityMetric]]:
    """The silos' models in the order of the silos, which is not the one in which their models were measured."""
    scores = {(score.stage, score.silo): score for score in summary.scores}
    wanted = [
        (title, (stage, silo.name))
        for silo in summary.silos
        for stage, title in (
            ("silo_trained", f"After local training, {silo.name}"),
            ("silo_alone", f"{silo.name} alone"),
            ("final", f"{silo.name} at the end, with its own part"),
        )
    ]
    return [(title, scores[key]) for title, key in wanted if key in scores]


def cell(score: QualityMetric, measure: str) -> str:
    """An accuracy with its margin."""
    return wording.percent(score.accuracy.get(measure), score.margin.get(measure))


def bare(score: QualityMetric, measure: str) -> str:
    """A measure with three digits, which an area under a curve has as well as a share."""
    return wording.share(score.accuracy.get(measure))


def _stride(rounds: int, most: int | None) -> int:
    """The step at which rounds are shown, so that with the first and the last there are `most` at most."""
    return 1 if most is None or rounds <= most else math.ceil(rounds / (most - 2))


def _note(summary: RunSummary, *, rounds: int, every: int) -> str:
    left_out = f" Of {rounds} rounds: the first, one in {every}, and the last; the report has all."
    return _how_to_read(summary) + (left_out if every > 1 else "")


def _how_to_read(summary: RunSummary) -> str:
    match summary.measured_as:
        case "generated":
            return "Accuracy on real, held-out images of a classifier that saw only generated ones."
        case "few_shot":
            margins = any(score.margin for score in summary.scores)
            words = "Accuracy in tasks of classes that nobody trained on"
            words += "; ± is the 95 % confidence interval over tasks, in points. " if margins else ". "
            return f"{words}Chance: {chance(summary)}."
        case "classification":
            on = f"each silo's {measured_on(summary)}, and their mean" if summary.personal else "all held-out records"
            return (
                f"Measured on {on}. Balanced accuracy is the mean over classes of the share that is named rightly. AUC "
                "is the chance that a record of a class gets a higher probability of it than one of another class."
            )
        case "own":
            return "The learner's own measure of held-out records, from 0 to 1; larger is better."
        case _:
            assert_never(summary.measured_as)
