"""What a silo of a deployment holds, as its own file says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.privacy_audit.holdings import Holdings

POLICY = {"largest_epsilon": 1, "largest_delta": 1e-9, "fewest_silos": 9, "secure_sums": ["ckks"], "privacy": ["none"]}
COLUMNS = [{"name": "age", "kind": "number", "range": [0, 100]}]
TARGET = {"name": "ill", "kind": "category", "values": ["no", "yes"]}

Write = Callable[..., Path]


@pytest.fixture
def silo_file(tmp_path: Path) -> Write:
    """A silo.yaml as its kit has it, whose keys are not there: an audit needs none."""

    def write(**changes: Any) -> Path:
        keys = {"certificate": "silo.crt", "key": "silo.key", "authority": "ca.crt"}
        written: dict[str, Any] = {
            "name": "north",
            "aggregator": {"host": "localhost", "port": 8443},
            "tls": keys,
            "identity": "identity.key",
            "roster": "roster.yaml",
            "state": "state",
            "data": {"kind": "digits"},
            "policy": POLICY,
        }
        path = tmp_path / "silo.yaml"
        path.write_text(yaml.safe_dump(written | changes), encoding="utf-8")
        return path

    return write


def test_a_silo_has_its_own_data_and_declares_its_classes(small_job: Callable[..., Job], silo_file: Write) -> None:
    job = small_job(data={"kind": "at_silos"})
    every, some = (Holdings.of_silo(job, silo_file(**changes)) for changes in ({}, {"classes": [0, 1]}))
    (part,) = every.parts.values()
    assert (list(every.parts), part.shape, part.classes) == (["north"], (1, 8, 8), 10)
    assert list(every.labels["north"]) == list(range(10))
    assert list(some.labels["north"]) == [0, 1]


def test_a_table_lies_beside_the_silos_file_and_has_the_columns_that_the_job_declares(
    small_job: Callable[..., Job], silo_file: Write, tmp_path: Path
) -> None:
    (tmp_path / "here.csv").write_text("age,ill\n30,no\n60,yes\n45,no\n", encoding="utf-8")
    declared = {"kind": "at_silos", "columns": COLUMNS, "target": TARGET}
    job = small_job(data=declared, learner={"kind": "classifier", "model": "logistic"}, evaluation={})
    table = silo_file(data={"kind": "csv", "file": "here.csv"})
    assert len(Holdings.of_silo(job, table).parts["north"]) == 3
    with pytest.raises(ConfigError):
        Holdings.of_silo(small_job(data={"kind": "at_silos"}), table)
    with pytest.raises(ConfigError):
        Holdings.of_silo(job, silo_file())


def test_the_file_of_a_stranger_is_refused(small_job: Callable[..., Job], silo_file: Write) -> None:
    with pytest.raises(ConfigError):
        Holdings.of_silo(small_job(data={"kind": "at_silos"}), silo_file(name="stranger"))
