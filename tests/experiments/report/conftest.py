"""Cells as the comparisons would measure them, invented but plausible, and the same in every run."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from siloseal.experiments.comparison.rows import Label, Measured, Row
from siloseal.experiments.report.chapter import ChapterKind
from siloseal.experiments.report.chapters import draw
from siloseal.report.document import Chapter

SUMS = {"plain": 8.0, "additive": 8.4, "ring": 8.2, "SecAgg": 5.2, "SecAgg+": 5.4, "CKKS shared key": 14.0,
        "CKKS one key": 28.0, "Paillier": 61.0}  # fmt: skip
NOISES = {"DP-Adam in training": 0.60, "each silo (local)": 0.45, "aggregator (central)": 0.78, "DDG": 0.775,
          "Skellam": 0.776, "binomial": 0.70}  # fmt: skip
KINDS: dict[Label, str] = {
    "plain": "plain", "additive": "additive", "ring": "ring", "SecAgg": "secagg", "SecAgg+": "secagg_plus",
    "CKKS shared key": "ckks", "CKKS one key": "ckks_one_key", "Paillier": "paillier",
    "each silo (local)": "gaussian_local", "aggregator (central)": "gaussian_central", "DDG": "ddg",
    "Skellam": "skellam", "binomial": "binomial", "PBM": "pbm",
}  # fmt: skip
SILOS = ("north", "east")
OURS = "one encrypted sum, then DP tuning"
EVERY = {OURS: (9e6, 0.4e6), "CKKS every round": (0.2e6, 6.1e6), "BatchCrypt every round": (0.2e6, 19e6),
         "plain every round": (0.1e6, 0.35e6)}  # fmt: skip

CellsOf = Callable[[ChapterKind], list[Measured]]
_rng = np.random.default_rng(7)


def noisy(value: float) -> float:
    return float(np.clip(value + _rng.normal(0, 0.012), 0, 1))


def cell(rows: Sequence[Row], *, seed: int = 0, **labels: Label) -> Measured:
    name = "".join(letter if letter.isalnum() else "-" for letter in f"{labels}{seed}")
    kinds = {setting: KINDS[labels[axis]] for setting, axis in (("secure_sum", "sum"), ("mechanism", "noise"))
             if labels.get(axis) in KINDS}  # fmt: skip
    return Measured(comparison="synthetic", cell=name, labels=labels, seed=seed, kinds=kinds, rows=tuple(rows))


def scored(stage: str, value: float, silo: str = "") -> Row:
    return Row(measure="accuracy", value=noisy(value), stage=stage, silo=silo, detail="cnn")


def overview() -> Iterator[Measured]:
    for seed, start, epsilon in product((0, 1, 2), ("public", "none"), (1, 3, 10)):
        value = 0.5 + 0.2 * (start == "public") + 0.02 * epsilon
        yield cell([scored("final", value)], seed=seed, start=start, epsilon=epsilon)


def optimizers() -> Iterator[Measured]:
    speed = {"DP-Adam": 0.9, "DP-SGD": 0.35, "DP-AdamBC": 0.85}
    spent = {0.005: 2.1e7, 0.5: 24.4, 5: 0.94, 8: 0.51}
    for seed, sigma, name in product((0, 1, 2), spent, speed):
        rows = []
        for stage, steps in (("warm_start", 0), ("phase_1", 200), ("round_1", 250), ("round_2", 300), ("final", None)):
            top = 0.75 - 0.02 * sigma
            rows.append(
                scored(
                    stage, 0.12 + (top - 0.12) * (1 - np.exp(-(300 if steps is None else steps) / 120 * speed[name]))
                )
            )
            if steps is not None:
                rows.append(Row(measure="steps", value=steps, stage=stage))
        rows += [Row(measure="epsilon", value=spent[sigma], stage="total", silo=silo) for silo in SILOS]
        rows.append(Row(measure="delta", value=1e-5))
        yield cell(rows, seed=seed, sigma=sigma, optimizer=name)


def sums() -> Iterator[Measured]:
    for name, bytes_each in SUMS.items():
        yield cell([
            Row(measure=measure, value=size * bytes_each * share, stage=stage, silo=silo, unit="B")
            for stage, size in (("enrolment", 400), ("warm_start", 2e4), ("phase_1", 3.5e4), ("phase_2", 1e4))
            for measure, share in (("sent_bytes", 1.0), ("received_bytes", 1.3))
            for silo in SILOS
        ], sum=name)  # fmt: skip
        for count in (3, 10):
            yield cell(single_sum(name, bytes_each, count), sum=name, silos=count)


def single_sum(name: str, bytes_each: float, count: int) -> list[Row]:
    heavy = 40 if name == "Paillier" else 1
    rows = [
        Row(measure="silo_seconds", value=0.002 * heavy * bytes_each * (1 + count / 40), stage=f"round {n}")
        for n in (1, 2)
    ]
    for silo, n in product(range(count), (1, 2)):
        sent = bytes_each * 35_000 if n == 2 else 300.0
        rows.append(Row(measure="sent_bytes", value=sent, stage=f"round {n}", silo=f"silo{silo}", unit="B"))
        rows.append(
            Row(measure="received_bytes", value=200.0 * count, stage=f"round {n}", silo=f"silo{silo}", unit="B")
        )
    drops = float(name in ("plain", "SecAgg", "SecAgg+", "CKKS shared key"))
    return [
        *rows, Row(measure="aggregator_seconds", value=0.001 * heavy * count * bytes_each),
        Row(measure="peak_bytes", value=2e6 * bytes_each * count), Row(measure="error", value=1.4e-8),
        Row(measure="parameters", value=35_000), Row(measure="dropout_before_upload", value=drops),
        Row(measure="dropout_after_upload", value=drops),
    ]  # fmt: skip


def noise() -> Iterator[Measured]:
    for seed, (name, top), epsilon in product((0, 1, 2), NOISES.items(), (0.3, 1, 3, 10)):
        yield cell([scored("final", top * epsilon / (epsilon + 0.4))], seed=seed, noise=name, epsilon=epsilon)
    times = {
        "each silo (local)": 4.5,
        "aggregator (central)": 1.0,
        "DDG": 1.01,
        "Skellam": 1.01,
        "binomial": 1.3,
        "PBM": 2.4,
    }
    for seed, (name, factor), epsilon in product((0, 1, 2), times.items(), (0.3, 1, 3, 10)):
        central = 3.7 / epsilon
        rows = [
            Row(measure="rmse", value=central * factor * (1 + 0.01 * seed)),
            Row(measure="central_rmse", value=central),
        ]
        yield cell([*rows, Row(measure="sent_bytes", value=2300)], seed=seed, noise=name, epsilon=epsilon)


def traffic() -> Iterator[Measured]:
    for (name, (once, each)), rounds, seed in product(EVERY.items(), (2, 5, 10), (0, 1)):
        places = (("sent_bytes", "phase_1", "north"), ("received_bytes", "phase_1", "north"),
                  ("sent_bytes", "phase_2", "east"), ("received_bytes", "phase_2", "east"))  # fmt: skip
        rows = [
            Row(measure=measure, value=(once + each * rounds) / 4, stage=stage, silo=silo)
            for measure, stage, silo in places
        ]
        yield cell([*rows, scored("final", 0.6 + 0.015 * rounds)], seed=seed, scheme=name, model="small", rounds=rounds)
    for (name, (once, each)), (model, size) in product(EVERY.items(), (("small", 1), ("published prototype", 40))):
        told = [
            Row(measure="predicted_bytes", value=size * (once + each * n), stage=f"round {n}") for n in (1, 5, 100, 250)
        ]
        yield cell(told, scheme=name, model=model)


def silos() -> Iterator[Measured]:
    for seed, data, count in product((0, 1, 2), ("IID", "label skew"), (2, 5, 10, 30, 100)):
        alone = (0.74 if data == "IID" else 0.45) - 0.11 * np.log10(count)
        rows = [scored("silo_alone", alone + 0.02 * n, f"silo{n}") for n in range(min(count, 3))]
        yield cell([scored("final", 0.76 - 0.03 * np.log10(count)), *rows], seed=seed, data=data, silos=count)
    for seed in (0, 1, 2):
        yield cell([scored("final", 0.79)], seed=seed, data="pooled", silos=1)


def starts() -> Iterator[Measured]:
    ends = {
        "kernel_mean": (0.93, 0.93, 0.93, 0.93),
        "public": (0.46, 0.53, 0.67, 0.78),
        "none": (0.11, 0.29, 0.52, 0.67),
    }
    for seed, data, (start, (warm, best, average, final)) in product((0, 1, 2), ("label skew", "IID"), ends.items()):
        rows = [scored("warm_start", warm), scored("phase_1", average), scored("final", final)]
        rows += [scored("silo_trained", best - 0.1 * n, silo) for n, silo in enumerate(SILOS)]
        rows += [Row(measure="other_accuracy", value=final - 0.05, stage="final", detail="mlp"),
                 Row(measure="epsilon", value=9.991, stage="total", silo="north")]  # fmt: skip
        yield cell(rows, seed=seed, data=data, start=start)


def inversion() -> Iterator[Measured]:
    levels = {"nothing": 27.0, "DP-Adam, epsilon 10": 11.2, "secure sum": 9.4}
    for seed, (name, level) in product(range(6), levels.items()):
        guess = 10.2 + 0.3 * seed
        rows = [
            Row(measure="psnr", value=level + 0.4 * (seed % 3), unit="dB"),
            Row(measure="baseline_psnr", value=guess, unit="dB"),
        ]
        yield cell(rows, seed=seed, protection=name)


def audit() -> Iterator[Measured]:
    bounds = {"none": 0.45, "noise off": 1000.0, "noise halved": 0.9}
    for seed, epsilon, (flaw, bound) in product(range(4), (1, 2, 4, 8), bounds.items()):
        value = bound + 0.3 * seed if flaw == "noise off" else bound * epsilon + 0.02 * seed
        rows = [Row(measure="lower_bound", value=value), Row(measure="broken", value=flaw == "noise off"),
                Row(measure="epsilon", value=epsilon), Row(measure="delta", value=1e-5),
                Row(measure="steps", value=1000), Row(measure="confidence", value=0.999)]  # fmt: skip
        yield cell(rows, seed=seed, epsilon=epsilon, flaw=flaw, training="every example")
    for seed, flaw in product(range(2), ("none", "sampling ignored")):
        value = 0.1 if flaw == "none" else 2.5 + seed
        rows = [Row(measure="lower_bound", value=value), Row(measure="epsilon", value=1.0),
                Row(measure="delta", value=1e-5), Row(measure="steps", value=400),
                Row(measure="broken", value=flaw != "none"), Row(measure="confidence", value=0.999)]  # fmt: skip
        yield cell(rows, seed=seed, epsilon=1, flaw=flaw, training="sampled")


def cheating() -> Iterator[Measured]:
    cheats = ("reads_uploads", "opens_one", "swaps_keys", "two_lists", "opens_twice", "replays_session", "malformed_c1",
              "two_lists_with_a_silo")  # fmt: skip
    words = {"l": ("learnt", 1), "r": ("refused", 0), "h": ("harmless", 0), "-": ("does not apply", -1)}
    tried = {"plain": "l----h--", "ring": "h----h-h", "SecAgg": "h-rrrr-h", "CKKS": "hrrrrrhh",
             "CKKS joint key": "hrrrrrlh", "CKKS one key": "hlr-lrll", "Paillier": "hl--lrll"}  # fmt: skip
    for name, outcomes in tried.items():
        told = [(cheat, *words[letter]) for cheat, letter in zip(cheats, outcomes, strict=True)]
        yield cell(
            [Row(measure="learnt", value=value, detail=cheat, stage=stage) for cheat, stage, value in told], sum=name
        )


def distributed_dp() -> Iterator[Measured]:
    tops = {"aggregator (central)": 0.87, "each silo (local)": 0.5, "DDG": 0.87, "Skellam": 0.87, "PBM": 0.8}
    for seed, (name, top), epsilon in product((0, 1, 2), tops.items(), (1, 3, 10)):
        for bits in (12, 18) if name in ("DDG", "Skellam") else (None,):
            value = top - 0.05 / epsilon - (0.04 if bits == 12 else 0)
            rows = [scored("final", value), Row(measure="delta", value=1e-4)]
            if name == "aggregator (central)":
                rows.append(Row(measure="epsilon_if_hidden", value=epsilon / 3, stage="total"))
            labels = (
                {"noise": name, "epsilon": epsilon}
                if bits is None
                else {"noise": name, "bits": bits, "epsilon": epsilon}
            )
            yield cell(rows, seed=seed, **labels)
    for seed in (0, 1, 2):
        yield cell([scored("final", 0.89)], seed=seed, noise="no privacy")


def fedavg() -> Iterator[Measured]:
    speeds = {("IID", "0", "1", "10"): 40, ("IID", "0.1", "1", "10"): 20, ("IID", "0.1", "5", "10"): 8,
              ("IID", "0.1", "5", "all"): 60, ("by class", "0.1", "1", "10"): 200}  # fmt: skip
    for (data, fraction, epochs, batch), speed in speeds.items():
        values = [0.1 + 0.88 * (1 - np.exp(-number / speed)) for number in range(150)]
        reached = next((number for number, value in enumerate(values) if value >= 0.97), None)
        run = values if reached is None else values[: reached + 1]
        rows = [Row(measure="accuracy", value=value, stage=f"round_{number}") for number, value in enumerate(run)]
        rows += [Row(measure="target", value=0.97), Row(measure="rounds", value=len(run) - 1)]
        rows += [] if reached is None else [Row(measure="rounds_to_target", value=reached)]
        yield cell(rows, data=data, C=float(fraction), E=int(epochs), B=batch if batch == "all" else int(batch))


MADE: dict[ChapterKind, Callable[[], Iterator[Measured]]] = {
    "overview": overview, "optimizers": optimizers, "sums": sums, "noise": noise, "traffic": traffic, "silos": silos,
    "starts": starts, "inversion": inversion, "audit": audit, "cheating": cheating, "distributed-dp": distributed_dp,
    "fedavg": fedavg,
}  # fmt: skip


@pytest.fixture(scope="session")
def cells_of() -> CellsOf:
    made = {kind: list(make()) for kind, make in MADE.items()}
    return lambda kind: made[kind]


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory, cells_of: CellsOf) -> Callable[[str], Path]:
    """The folders of the cells of `inversion`, with two images in each."""
    base, rng = tmp_path_factory.mktemp("cells"), np.random.default_rng(3)
    y, x = np.mgrid[0:28, 0:28]
    for one in cells_of("inversion"):
        original = (np.hypot(x - 14, y - 14 + one.seed) < 5 + one.seed).astype(float)
        spoiled = {"nothing": 0.08}.get(str(one.labels["protection"]), 0.9)
        rebuilt = np.clip((1 - spoiled) * original + spoiled * rng.uniform(size=(28, 28)), 0, 1)
        (base / one.cell).mkdir()
        np.savez(base / one.cell / "images.npz", original=original, rebuilt=rebuilt)
    return lambda digest: base / digest


@pytest.fixture(scope="session")
def chapters(
    tmp_path_factory: pytest.TempPathFactory, cells_of: CellsOf, folder_of: Callable[[str], Path]
) -> dict[ChapterKind, Chapter]:
    """Every chapter, as `siloseal compare` draws it, but in fewer dots."""
    out = tmp_path_factory.mktemp("figures")
    return {
        kind: draw(kind, kind, cells_of(kind), out, folder_of=folder_of, dpi=50, seconds=75,
                   command=f"siloseal compare configs/compare-{kind}.yaml")
        for kind in MADE
    }  # fmt: skip
