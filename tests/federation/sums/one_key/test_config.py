"""What a config may choose, what it must not combine with one key, and a whole job under each."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from siloseal.aggregator import dispatcher as dispatcher
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.contributions import require_precision
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.data import Digits
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.run_events.stream import unheard
from siloseal.federation.sums.driving import drive
from siloseal.federation.sums.fixed_point import FixedPoint
from siloseal.federation.sums.one_key.config import PaillierSumConfig, StockCkksConfig
from siloseal.federation.sums.one_key.one_key_sum import PaillierSum, StockCkksSum
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import RealDomain
from siloseal.models.building import initial_model, load_model
from siloseal.runs.guarantees import protection, training_releases
from siloseal.runs.result import RunResult
from siloseal.runs.simulation import deal, federate, open_silos
from siloseal.silo.data.loading import load
from siloseal.silo.state import Checkpoint
from siloseal.silo.training.work import SiloTraining

REASONS = {"paillier": PaillierSum.exposure.assumes, "ckks_one_key": StockCkksSum.exposure.aggregator_learns}
"""What the two expose that noise which is split over the silos does not protect from."""
KINDS = tuple(REASONS)
SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 2, "tuning_rounds": 0}
SILO_LEVEL = {"kind": "silo_level", "epsilon": 10, "delta": 1e-2, "clip_norm": 1.0}
QUIET = {"classifiers": ["logistic"], "samples": 100, "silo_alone": False}


def test_the_config_builds_paillier_with_its_key_and_precision() -> None:
    assert (
        PaillierSumConfig(kind="paillier").build().name == "fixed_point(precision_bits=24) over paillier(key_bits=2048)"
    )
    chosen = PaillierSumConfig(kind="paillier", key_bits=3072, precision_bits=16)
    assert chosen.build().name == "fixed_point(precision_bits=16) over paillier(key_bits=3072)"
    assert StockCkksConfig(kind="ckks_one_key").build().name == "ckks_one_key"


def test_lanes_are_just_wide_enough_for_the_total_of_the_largest_points() -> None:
    """Ten of 25 bits: 29. The same scheme over integers of the same width keeps room for ten of 29 bits: 33."""
    scheme, reals = PaillierSumConfig(kind="paillier").build(), RealDomain(1000, 8.0)
    points = FixedPoint(24).domain(reals, 10)
    assert points.modulus == 2**29
    assert scheme.describe(reals, 10)["values a ciphertext"] == "70 in lanes of 29 bits"
    assert scheme.describe(points, 10)["values a ciphertext"] == "62 in lanes of 33 bits"


@pytest.mark.parametrize("bits", [1024, 2047, 4096])
def test_no_config_reaches_a_key_that_is_too_short_or_unusual(bits: int) -> None:
    with pytest.raises(ValidationError):
        PaillierSumConfig.model_validate({"kind": "paillier", "key_bits": bits})


def test_16_bits_are_too_few_for_the_digits_of_a_silo_and_the_default_is_enough(small_job: Callable[..., Job]) -> None:
    for kind in KINDS:
        require_precision(small_job(secure_sum={"kind": kind}), "north", 480)
    with pytest.raises(ConfigError, match=r"secure_sum\.precision_bits .*north"):
        require_precision(small_job(secure_sum={"kind": "paillier", "precision_bits": 16}), "north", 480)


@pytest.mark.parametrize("kind", KINDS)
class TestOneKey:
    @pytest.mark.parametrize("mechanism", ["skellam", "gaussian_central"])
    @pytest.mark.parametrize("where", ["secure_sum", "tuning_sum"])
    def test_is_refused_under_noise_that_it_would_not_protect(
        self, small_job: Callable[..., Job], kind: str, where: str, mechanism: str
    ) -> None:
        chosen: dict[str, Any] = {
            "secure_sum": {"kind": "secagg"},
            "tuning_sum": {"kind": "secagg"},
            where: {"kind": kind},
        }
        sections = {"privacy": SILO_LEVEL, "mechanism": {"kind": mechanism}, "evaluation": QUIET}
        reason = REASONS[kind] if mechanism == "skellam" else f"under {kind} "
        with pytest.raises(ValidationError, match=reason):
            small_job(
                secure_sum=chosen["secure_sum"],
                schedule={**SHORT, "tuning_rounds": 1, "tuning_sum": chosen["tuning_sum"]},
                **sections,
            )

    def test_is_refused_for_counts_whose_noise_is_split(self, kind: str) -> None:
        job = {
            "name": "counts",
            "data": {"kind": "digits"},
            "silos": {"names": ["a", "b", "c"]},
            "privacy": {"epsilon": 1, "delta": 1e-5},
            "queries": [{"kind": "histogram", "column": "label", "values": ["0", "1"]}],
        }
        AnalyticsJob.model_validate({**job, "secure_sum": {"kind": "ckks"}})
        with pytest.raises(ValidationError, match=REASONS[kind]):
            AnalyticsJob.model_validate({**job, "secure_sum": {"kind": kind}})


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("paillier", "the aggregator learns the sum only; assumes"),
        ("ckks_one_key", "not hidden: the aggregator learns every silo's vector"),
    ],
)
def test_a_report_says_whether_the_aggregator_can_read_uploads(
    small_job: Callable[..., Job], kind: str, words: str
) -> None:
    job = small_job(secure_sum={"kind": kind}, schedule=SHORT)
    model = initial_model(job, (1, 8, 8), 10)
    finished = RunResult(load_model(job, (1, 8, 8), 10, model), model.size, (1, 8, 8), 10, [], [])
    (upload,) = protection(training_releases(job, finished), private=True)
    assert upload.hidden_from_aggregator == (kind == "paillier")
    assert upload.note.startswith(words)


@pytest.mark.parametrize("kind", ["ckks_one_key", pytest.param("paillier", marks=pytest.mark.slow)])
def test_a_job_runs_under_one_key_with_every_silo_counted(
    small_job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The sum is that of what the silos prepared. Paillier takes seven seconds for these 17,792 weights."""
    job = small_job(secure_sum={"kind": kind}, schedule=SHORT)
    given, sums, vector_of = dict[str, np.ndarray](), list[Sum](), SiloTraining.vector

    def prepare(self: SiloTraining, at: Checkpoint) -> np.ndarray:
        given[self.silo] = vector_of(self, at)
        return given[self.silo]

    def watch(*arguments: Any) -> Sum:
        sums.append(drive(*arguments))
        return sums[-1]

    monkeypatch.setattr(SiloTraining, "vector", prepare)
    monkeypatch.setattr(dispatcher, "drive", watch)
    with open_silos(
        job, deal(job, load(Digits())[0]), tmp_path, lambda _: SecureRandomness(), lambda *_: None
    ) as silos:
        federate(job, silos, tmp_path, unheard, workers=1)
    (summed,) = sums
    assert summed.contributors == tuple(sorted(job.silos.names))
    assert np.abs(summed.total - sum(given.values())).max() <= summed.error_bound
