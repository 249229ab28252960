"""Whole runs on small data: every way to start and to federate, repeated, interrupted, resumed."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from siloseal.federation.errors import ConfigError, RunError, SiloSealError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.server_optimizers import ServerAverage
from siloseal.federation.job.weighting import weighted_domain
from siloseal.federation.privacy.epsilon import delta_text, epsilon_text
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.records.storage import locked
from siloseal.models.model_files import read_generator
from siloseal.run_folder.location import open_run_folder
from siloseal.run_folder.run import read_run
from siloseal.run_folder.summary import RunSummary
from siloseal.runs.federation_of_one import federation_of_one
from siloseal.runs.run import run_job
from siloseal.silo.ledger import Budget, Ledger
from siloseal.silo.opening import open_training_silo
from siloseal.silo.runtime import Silo

SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 10, "tuning_rounds": 2, "tuning_steps": 3}
KERNEL_MEAN = {"kind": "kernel_mean", "epsilon": 4, "frequencies": 100, "length_scale": 1.0, "fit_steps": 60}
CKKS = {"kind": "ckks"}
FEDAVG = {"kind": "fedavg", "rounds": 3, "fraction": 0.5, "local_epochs": 0.2, "batch": 48}


def seeded(silo: str) -> SeededRandomness:
    return SeededRandomness(sum(silo.encode()))


def run(job: Job, folder: Path) -> RunSummary:
    return run_job(job, folder, randomness_of=seeded)


JOBS: dict[str, dict[str, Any]] = {
    "kernel_mean": {"warm_start": KERNEL_MEAN, "evaluation": {"classifiers": ["logistic"], "samples": 300, "silo_alone": True, "most_silos": 2}},
    "encrypted": {"warm_start": KERNEL_MEAN, "secure_sum": CKKS, "schedule": {**SHORT, "tuning_sum": CKKS}, "evaluation": {"classifiers": ["logistic"], "samples": 300, "silo_alone": True}},
    "encrypted fedavg": {"warm_start": {"kind": "none"}, "secure_sum": CKKS, "schedule": FEDAVG},
    "masked": {"warm_start": KERNEL_MEAN, "secure_sum": {"kind": "secagg"}, "schedule": {**SHORT, "tuning_sum": {"kind": "ring"}}},
    "masked fedavg": {"warm_start": {"kind": "none"}, "secure_sum": {"kind": "additive"}, "schedule": FEDAVG},
    "leader": {"warm_start": {"kind": "leader", "silo": "east", "steps": 10}},
    "public": {"warm_start": {"kind": "public", "data": {"kind": "embedded_mnist", "side": 8, "limit": 500}, "fit_steps": 20, "frequencies": 50}},
    "fedavg": {"warm_start": {"kind": "none"}, "schedule": FEDAVG},
    "kernel_mean and fedavg": {"warm_start": KERNEL_MEAN, "schedule": {**FEDAVG, "rounds": 1}},
    "no privacy": {"warm_start": KERNEL_MEAN, "privacy": {"kind": "none"}},
    "dp_sgd, no tuning": {"optimizer": {"kind": "dp_sgd", "learning_rate": 0.05}, "schedule": {**SHORT, "tuning_rounds": 0}},
    "dp_adam_bc, by class": {"optimizer": {"kind": "dp_adam_bc"}, "silos": {"names": ["a", "b"], "partition": {"kind": "by_class", "classes_per_silo": 5}}},
    "silo_level": {"privacy": {"kind": "silo_level", "epsilon": 8, "delta": 1e-4}, "mechanism": {"kind": "skellam"}, "secure_sum": {"kind": "secagg"}, "schedule": {**SHORT, "tuning_sum": {"kind": "secagg"}}},
}  # fmt: skip
BY_HAND = ("public", "encrypted fedavg", "masked", "masked fedavg", "kernel_mean and fedavg", "dp_adam_bc, by class")


@pytest.mark.parametrize(
    "sections",
    [pytest.param(sections, marks=[pytest.mark.slow] * (name in BY_HAND)) for name, sections in JOBS.items()],
    ids=list(JOBS),
)
def test_a_job_runs_from_start_to_report(
    small_job: Callable[..., Job], tmp_path: Path, sections: dict[str, Any]
) -> None:
    job = small_job(**{"schedule": SHORT, **sections})
    summary = run(job, tmp_path / "run")
    again = read_run(tmp_path / "run")
    assert again.summary == summary
    private = sections.get("privacy") != {"kind": "none"}
    if private:
        assert summary.epsilon is not None
        assert summary.epsilon <= 10
        assert all(
            f"({epsilon_text(silo.epsilon or 0)}, {delta_text(summary.delta or 0)})" in silo.statement
            for silo in summary.silos
        )
    else:
        assert summary.epsilon is None
        assert all("no guarantee" in silo.statement for silo in summary.silos)
    assert list(summary.accuracy)[-1] == "final"
    assert summary.bytes > 2 * 4 * 3000
    alone = [silo.name for silo in summary.silos if silo.accuracy_alone is not None]
    assert alone == (list(job.silos.names)[: job.evaluation.most_silos] if job.evaluation.silo_alone else [])
    paid = [silo.name for silo in summary.silos if silo.epsilon_alone is not None]
    assert paid == (alone if private else [])
    for name in ("config.yaml", "global.safetensors", "metrics.jsonl", "report.html"):
        assert (tmp_path / "run" / name).stat().st_size > 100


RESTS_ON = {
    "ckks": {"degree N": "", "log q": "", "key and errors": "variance 44", "values a coefficient": "",
             "precision": "28 bits", "masked key": "SecAgg", "threshold": "3 of 3", "who may collude": "n = 3 silos, 1"},
    "ckks_joint_key": {"degree N": "", "log q": "", "values a coefficient": "", "precision": "28 bits", "flooding": "",
                       "statistical distance": "", "threshold": "3 of 3", "assumes": "malformed c1"},
    "secagg": {"precision": "28 bits", "modulus": "2^31", "masks a silo": "2 with everyone else", "threshold": "2 of 3",
               "a silent silo": "n = 3 silos, 1", "who may collude": "n = 3 silos, 0"},
    "secagg_plus": {"precision": "28 bits", "modulus": "2^31", "masks a silo": "2 with everyone else",
                    "threshold": "3 of 3", "a silent silo": "n = 3 silos, none", "who may collude": "n = 3 silos, 1"},
    "additive": {"precision": "28 bits", "shares": "3 of each vector over Z_2^64", "a silent silo": "n = 3 silos, none",
                 "who may collude": "n = 3 silos, 1"},
    "ring": {"precision": "28 bits", "a silent silo": "n = 3 silos, none", "if more collude": "around a third"},
}  # fmt: skip
"""What the report says of each sum of three silos, and a part of what it says there."""
NAMES_OF_SUMS = {
    "ckks": "ckks(precision_bits=28",
    "ckks_joint_key": "ckks_joint_key(precision_bits=28",
    "secagg": "fixed_point(precision_bits=28) over secagg(threshold=2)",
    "secagg_plus": "over secagg_plus(security_bits=40, correctness_bits=30, corrupt=0.05, dropout=0.05)",
    "additive": "fixed_point(precision_bits=28) over additive",
    "ring": "fixed_point(precision_bits=28) over ring",
}
ONE_SUM = {**SHORT, "tuning_rounds": 0}
TWO_OF_THREE = {"names": ["north", "east", "south"], "partition": {"kind": "iid"}, "fewest": 2}


def model_of(folder: Path) -> np.ndarray:
    generator = read_generator(folder / "global.safetensors")
    return torch.cat([parameter.detach().reshape(-1) for parameter in generator.parameters()]).numpy()


@pytest.fixture(scope="module")
def plain_model(small_sections: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    """Of the small job with one sum."""
    folder = tmp_path_factory.mktemp("plain") / "run"
    run(Job.model_validate({**small_sections, "schedule": ONE_SUM}), folder)
    assert "Not hidden" in (folder / "report.html").read_text()
    return model_of(folder)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind == "secagg_plus")) for kind in RESTS_ON]
)
def test_a_run_whose_sum_hides_gives_the_model_of_a_plain_run_and_its_report_says_what_it_rests_on(
    small_job: Callable[..., Job], tmp_path: Path, plain_model: np.ndarray, kind: str
) -> None:
    """Same seeds, so the same models at the silos: the averages differ by the rounding of both sums only."""
    chosen = {"kind": kind, "threshold": 2} if kind == "secagg" else {"kind": kind}
    job = small_job(silos=TWO_OF_THREE, secure_sum=chosen, schedule=ONE_SUM)
    summary = run(job, tmp_path / "run")
    # A silo's weight, and its weighted model, are off by half a step of the grid each.
    share = sum(silo.examples for silo in summary.silos) / job.largest_silo
    off_by = len(summary.silos) * job.secure_sum.build().grid(weighted_domain(1, job.largest_weight)) / 2 / share
    bound = off_by * (1 + np.abs(plain_model).max()) + 1e-6  # and single precision
    assert 0 < np.abs(model_of(tmp_path / "run") - plain_model).max() <= bound < 1e-3
    report = (tmp_path / "run" / "report.html").read_text()
    assert NAMES_OF_SUMS[kind] in summary.parameters["sum of phase 1"]
    assert NAMES_OF_SUMS[kind] in report
    for name, words in RESTS_ON[kind].items():
        assert words in summary.parameters[f"sum of phase 1, {name}"]
        assert f"sum of phase 1, {name}" in report
    assert "Not hidden" not in report
    assert "the aggregator learns the sum only" in report
    assert report.count("outside the privacy guarantee") == 1


@pytest.mark.parametrize("kind", ["ckks", "secagg"])
@pytest.mark.parametrize("where", ["secure_sum", "schedule.tuning_sum"])
def test_a_sum_too_coarse_for_a_silos_model_is_refused_before_anything_is_spent(
    small_job: Callable[..., Job], tmp_path: Path, where: str, kind: str
) -> None:
    """A model travels scaled by its share of largest_silo, 480 of 100,000 here: 14 bits would leave nothing of it."""
    coarse = {"kind": kind, "precision_bits": 14}
    sums = {"secure_sum": coarse} if where == "secure_sum" else {"schedule": {**SHORT, "tuning_sum": coarse}}
    with pytest.raises(ConfigError, match=rf"{where}\.precision_bits .* 0\.4.* 4, .*largest_silo"):
        run(small_job(**sums), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_ledger_holds_both_phases_and_agrees_with_the_summary(
    small_job: Callable[..., Job], tmp_path: Path
) -> None:
    summary = run(small_job(warm_start=KERNEL_MEAN, schedule=SHORT), tmp_path / "run")
    for silo in summary.silos:
        path = tmp_path / "run" / "silos" / silo.name / "ledger.jsonl"
        with Ledger(path, silo=silo.name, budget=Budget(10, 1e-5)) as ledger:
            assert ledger.epsilon == silo.epsilon
            assert [charge.phase for charge in ledger.charges] == ["warm_start", "phase_1", "phase_2", "phase_2"]
            steps = [getattr(charge.event, "steps", None) for charge in ledger.charges]
            assert steps == [None, 10, 3, 3]


@pytest.mark.slow
def test_equal_seeds_give_equal_models_and_another_seed_another(small_job: Callable[..., Job], tmp_path: Path) -> None:
    files = []
    for number, seed in enumerate((3, 3, 4)):
        run(small_job(schedule=SHORT, seed=seed), tmp_path / str(number))
        files.append((tmp_path / str(number) / "global.safetensors").read_bytes())
    assert files[0] == files[1] != files[2]


@pytest.mark.slow
def test_the_noise_of_a_real_run_does_not_repeat(small_job: Callable[..., Job], tmp_path: Path) -> None:
    models = []
    for number in range(2):
        job, folder = small_job(schedule=SHORT), tmp_path / str(number)
        run_job(job, folder)
        models.append((folder / "global.safetensors").read_bytes())
    assert models[0] != models[1]


@pytest.mark.slow
def test_silos_alone_only_count_for_their_own_classes(
    small_job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With privacy off and many steps, federating wins because nobody holds all the classes."""
    job = small_job(
        silos={"names": ["low", "high"], "partition": {"kind": "by_class", "classes_per_silo": 5}},
        privacy={"kind": "none"},
        warm_start={**KERNEL_MEAN, "frequencies": 500, "fit_steps": 300},
        schedule={**SHORT, "local_steps": 1, "tuning_rounds": 0},
        evaluation={"classifiers": ["logistic"], "samples": 500, "silo_alone": True},
    )
    declared = list[tuple[str, tuple[int, ...]]]()

    def noticed(*others: Any, labels: Sequence[int], identity: Identity, **more: Any) -> Silo:
        declared.append((identity.name, tuple(labels)))
        return open_training_silo(*others, labels=labels, identity=identity, **more)

    monkeypatch.setattr("siloseal.runs.simulation.open_training_silo", noticed)
    summary = run(job, tmp_path / "run")
    assert summary.best_silo_accuracy is not None
    assert summary.best_silo_accuracy <= 0.55
    assert len(declared) == 4  # each in the federation and alone, with the same classes both times
    assert {(silo.name, tuple(silo.labels)) for silo in summary.silos} == set(declared)
    assert summary.accuracy["final"] > summary.best_silo_accuracy + 0.15


@pytest.mark.parametrize("schedule", [SHORT, FEDAVG], ids=lambda schedule: f"{schedule['kind']}")
def test_a_silo_alone_has_nothing_that_serves_to_agree_with_others(
    small_job: Callable[..., Job], schedule: dict[str, Any]
) -> None:
    job = small_job(secure_sum=CKKS, schedule={**schedule, "server": {"kind": "adam"}})
    near = job.optimizer.model_copy(update={"proximal": 0.1})
    job = job.model_copy(update={"optimizer": near})
    alone = federation_of_one(job, "east")
    assert alone.silos.names == ("east",)
    assert (alone.secure_sum.kind, alone.schedule.server) == ("plain", ServerAverage())
    assert alone.optimizer == job.optimizer.model_copy(update={"proximal": 0.0})
    assert (alone.privacy, alone.schedule.batch) == (job.privacy, job.schedule.batch)


def test_a_run_goes_on_in_one_process_at_a_time(small_job: Callable[..., Job], tmp_path: Path) -> None:
    folder = open_run_folder(small_job(), tmp_path / "run")
    with locked(folder), pytest.raises(RunError, match=str(folder)):
        run(small_job(), tmp_path / "run")
    assert not (folder / "metrics.jsonl").exists()


def test_a_finished_run_is_never_overwritten(small_job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    job = small_job(schedule={**SHORT, "tuning_rounds": 0})
    run_job(job, None, randomness_of=seeded)
    assert open_run_folder(job, None) == Path("runs/small-2")
    assert open_run_folder(job, None) == Path("runs/small-2"), "begun and not finished: the same command continues it"
    assert open_run_folder(small_job(seed=9), None) == Path("runs/small-3")
    with pytest.raises(RunError, match="`siloseal report runs/small`"):
        open_run_folder(job, Path("runs/small"))
    with pytest.raises(RunError, match="runs/small-2 "):
        open_run_folder(small_job(seed=9), Path("runs/small-2"))


def test_a_job_that_is_refused_leaves_no_folder(small_job: Callable[..., Job], tmp_path: Path) -> None:
    job = small_job(silos={"names": ["a", "b"], "partition": {"kind": "by_class", "classes_per_silo": 20}})
    with pytest.raises(SiloSealError):
        run(job, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_things_in_it_is_not_touched(small_job: Callable[..., Job], tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(RunError, match=str(tmp_path)):
        open_run_folder(small_job(), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_average_is_weighted_by_size(small_job: Callable[..., Job], tmp_path: Path) -> None:
    """With one silo at nine tenths, the average lies close to that silo's own model."""
    job = small_job(
        silos={"names": ["large", "tiny"], "partition": {"kind": "sizes", "fractions": [0.9, 0.1]}},
        schedule={**SHORT, "tuning_rounds": 0},
    )
    run(job, tmp_path / "run")
    from safetensors.numpy import load_file

    average = load_file(tmp_path / "run" / "global.safetensors")
    large, tiny = (load_file(tmp_path / "run" / "silos" / n / "trained.safetensors") for n in ("large", "tiny"))
    sizes = {silo.name: silo.examples for silo in read_run(tmp_path / "run").summary.silos}
    share = sizes["large"] / sum(sizes.values())
    for name, value in average.items():
        np.testing.assert_allclose(value, share * large[name] + (1 - share) * tiny[name], atol=1e-6)
