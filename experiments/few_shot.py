"""Few-shot learning between silos with disjoint classes: one table for each data set.

    SILOSEAL_DATA=... python -m experiments.few_shot omniglot --out runs/omniglot
    SILOSEAL_DATA=... python -m experiments.few_shot mini_imagenet --out runs/mini-imagenet

One run after the other, each with its two silos on a thread of their own. A run that is there is not run again, so
that an interrupted table goes on.
"""

import argparse
from pathlib import Path
from typing import Any

import yaml

from federation.accounting import epsilon_text
from federation.config.job import Job
from siloseal import wording
from siloseal.console import Console
from siloseal.run_folder import is_finished
from siloseal.runs import run_job
from siloseal.score_table import cell
from siloseal.summary import RunSummary, read_run

CONFIGS = Path(__file__).parents[1] / "configs"

Changes = dict[str, dict[str, Any]]
WITHOUT_PRIVACY: Changes = {
    "learner": {
        "kind": "protonet", "network": "wavelets_conv", "episodes": "fresh", "ways": 10, "shots": 5, "queries": 5,
        "mirror": True, "average_decay": 0.98,
    },
    "optimizer": {"kind": "dp_adam", "learning_rate": 2e-3, "first_decay": 0.9},
    "privacy": {"kind": "none"},
    "schedule": {"kind": "two_phase", "batch": 2, "local_steps": 200, "tuning_rounds": 10, "tuning_steps": 20},
    "evaluation": {"kind": "few_shot"},
}  # fmt: skip
TASK_LEVEL: Changes = {
    "learner": {"kind": "protonet", "network": "wavelets", "shots": 1, "queries": 5},
    "privacy": {"kind": "task_level", "epsilon": 10, "delta": 1e-5},
    "schedule": {"kind": "two_phase", "batch": 32, "local_steps": 30, "tuning_rounds": 5, "tuning_steps": 2},
}
META_LSTM: Changes = {
    "learner": {"kind": "meta_lstm", "episodes": "fresh", "queries": 15, "inner_steps": 3, "inner_rate": 0.01,
                "average_decay": 0.98},
    "schedule": {"kind": "two_phase", "batch": 4, "local_steps": 800, "tuning_rounds": 5, "tuning_steps": 100},
    "evaluation": {"kind": "few_shot", "shots": [1]},
}  # fmt: skip

TABLES: dict[str, tuple[str, dict[str, Changes]]] = {
    "omniglot": ("omniglot.yaml", {"protonet": {}, "meta_lstm": META_LSTM}),
    "mini_imagenet": (
        "mini-imagenet-32.yaml",
        {
            "protonet without privacy": WITHOUT_PRIVACY,
            "embedding, example level": {},
            "protonet, task level": TASK_LEVEL,
        },
    ),
}


def job_of(table: str, row: str) -> Job:
    """The table's config with what this row changes."""
    config, rows = TABLES[table]
    fields = yaml.safe_load((CONFIGS / config).read_text())
    return Job.model_validate({**fields, **rows[row], "name": row.replace(" ", "-").replace(",", "")})


def run_row(job: Job, out: Path) -> RunSummary:
    """Run the job, or read what an earlier call left."""
    folder = out / job.name
    if is_finished(folder):
        return read_run(folder).summary
    with Console(quiet=True, json=False) as console:
        return run_job(job, folder, console)


def markdown(results: dict[str, RunSummary]) -> str:
    """One line a run and measure, with 95 % confidence intervals; alone and pooled where they were measured."""
    columns = (
        "learner",
        "tasks",
        "before phase 1",
        "phase 1 average",
        "final",
        "best silo alone",
        "pooled, no privacy",
    )
    lines = [f"| {' | '.join((*columns, 'epsilon', 'time'))} |", "| --- " * (len(columns) + 2) + "|"]
    for row, summary in results.items():
        scores = {score.stage: score for score in summary.scores if score.silo is None}
        for measure in scores["final"].accuracy:
            cells = [cell(scores[stage], measure) for stage in ("warm_start", "phase_1", "final")]
            alone = [score for score in summary.scores if score.stage == "silo_alone"]
            best = max(alone, key=lambda score: score.accuracy[measure], default=None)
            cells += ["" if score is None else cell(score, measure) for score in (best, scores.get("pooled"))]
            epsilon = "none" if summary.epsilon is None else epsilon_text(summary.epsilon)
            lines.append(
                f"| {row} | {measure} | {' | '.join(cells)} | {epsilon} | {wording.duration(summary.seconds)} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the table's jobs and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    results = dict[str, RunSummary]()
    for row in TABLES[arguments.table][1]:
        results[row] = run_row(job_of(arguments.table, row), arguments.out)
        print(f"{row}: {results[row].accuracy}, {results[row].seconds:.0f} s", flush=True)
    text = markdown(results)
    (arguments.out / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
