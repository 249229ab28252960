"""A finished run folder, written through the same definitions that a run uses."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from siloseal.run_folder.images import write_npz
from siloseal.run_folder.metrics import (
    Metric,
    NoteMetric,
    PrivacyMetric,
    ProtectionMetric,
    QualityMetric,
    TimingMetric,
    TrafficMetric,
)
from siloseal.run_folder.run import Run, sample_path, write_metrics, write_summary
from siloseal.run_folder.summary import RunSummary, SiloSummary

NAMES = ("north", "east", "south", "west")
ALONE = (0.412, 0.463, 0.447, 0.389)
TRAINED = (0.521, 0.548, 0.533, 0.502)
ROUNDS = {f"round_{n}": 0.643 + 0.008 * n for n in range(1, 9)}
GLOBAL = {"warm_start": 0.551, "phase_1": 0.643, **ROUNDS, "final": 0.712}


def quality(stage: str, value: float, silo: str | None = None) -> QualityMetric:
    accuracy = {"logistic": value - 0.02, "mlp": value - 0.01, "cnn": value}
    return QualityMetric(stage=stage, silo=silo, accuracy=accuracy, frechet=40 * (1 - value))


def metrics_of(names: tuple[str, ...]) -> list[Metric]:
    found: list[Metric] = [quality(stage, value) for stage, value in GLOBAL.items()]
    found += [quality("silo_alone", value, name) for name, value in zip(names, ALONE, strict=True)]
    found += [quality("silo_trained", value, name) for name, value in zip(names, TRAINED, strict=True)]
    found.append(quality("real", 0.968))
    for index, name in enumerate(names):
        found += [
            TrafficMetric(stage="warm_start", silo=name, sent_bytes=160_112 + index, received_bytes=141_307),
            TrafficMetric(stage="phase_1", silo=name, sent_bytes=1_900_245, received_bytes=960_518),
            TrafficMetric(stage="phase_2", silo=name, sent_bytes=1_413_072, received_bytes=1_413_999),
            PrivacyMetric(silo=name, phase="warm_start", epsilon=1.0, delta=1e-5, noise_multiplier=3.731, steps=1),
            PrivacyMetric(silo=name, phase="phase_1", epsilon=5.127, delta=1e-5, noise_multiplier=1.214,
                          sampling_rate=0.0512, steps=1000),
            PrivacyMetric(silo=name, phase="phase_2", epsilon=2.306, delta=1e-5, noise_multiplier=1.214,
                          sampling_rate=0.0512, steps=100),
            PrivacyMetric(silo=name, phase="total", epsilon=6.418, delta=1e-5),
        ]  # fmt: skip
    found += [TimingMetric(stage=stage, seconds=s) for stage, s in
              {"warm_start": 31.7, "phase_1": 84.2, "phase_2": 26.9, "evaluation": 41.3}.items()]  # fmt: skip
    found += [
        ProtectionMetric(stage="warm_start", what="kernel mean of each silo", scheme="ckks",
                         hidden_from_aggregator=True, note="only the sum is opened"),
        ProtectionMetric(stage="phase_1", what="generator of each silo", scheme="plain", hidden_from_aggregator=False,
                         note="in clear: the aggregator sees each upload; it is differentially private"),
        NoteMetric(text="the leader spends more steps than the others"),
    ]  # fmt: skip
    return found


def summary_of(run_dir: Path, names: tuple[str, ...]) -> RunSummary:
    silos = [
        SiloSummary(
            name=name, examples=1000 - 3 * index, labels=[0, 1, 2, 3, 4, 7], epsilon=6.418, budget=8.0,
            accuracy_alone=ALONE[index], accuracy_trained=TRAINED[index],
            statement=f"{name}: (6.42, 1e-5)-DP for one image, zero-out, Gaussian noise 1.21, trusting its machine only",
        )
        for index, name in enumerate(names)
    ]  # fmt: skip
    return RunSummary(
        name="Digits, label skew", accuracy=GLOBAL, best_silo_accuracy=max(ALONE), real_data_accuracy=0.968,
        epsilon=6.418, delta=1e-5, bytes=24_012_345, seconds=187.4, run_dir=str(run_dir), classifier="cnn", silos=silos,
        parameters={"clip norm": "1.0", "unit of privacy": "one image", "ring dimension": "16384"},
    )  # fmt: skip


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Writes a run of these silos; returns its folder."""

    def make(names: tuple[str, ...] = NAMES, **changes: object) -> Path:
        run_dir = tmp_path / "run"
        run_dir.mkdir()
        rng = np.random.default_rng(0)
        images, labels = rng.integers(0, 256, (40, 1, 8, 8), dtype=np.uint8), np.arange(40) % 10
        for stage, silo in [("warm_start", None), ("phase_1", None), ("final", None), ("silo_trained", NAMES[0])]:
            write_npz(sample_path(run_dir, stage, silo), images, labels)
        write_metrics(run_dir, metrics_of(names))
        write_summary(run_dir, summary_of(run_dir, names).model_copy(update=changes))
        return run_dir

    return make


@pytest.fixture
def summary(tmp_path: Path) -> RunSummary:
    return summary_of(tmp_path / "run", NAMES)


@pytest.fixture
def run(summary: RunSummary, tmp_path: Path) -> Run:
    """A finished run that no folder holds."""
    return Run(tmp_path / "run", summary, tuple(metrics_of(NAMES)), {})
