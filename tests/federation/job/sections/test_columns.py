"""Declared columns: what a job may say about a table, and with which learner and partition it goes."""

from typing import Any

import pytest
from pydantic import ValidationError

from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.columns import CategoryColumn, Columns, NumberColumn
from tests.conftest import SMALL_JOB

AGE = {"name": "age", "kind": "number", "range": [0, 100]}
SEX = {"name": "sex", "kind": "category", "values": ["f", "m"]}
DIAGNOSIS = {"name": "diagnosis", "kind": "category", "values": ["benign", "malignant"]}
SIZE = {"name": "size", "kind": "number", "range": [0, 5]}
LOGISTIC = {"kind": "classifier", "model": "logistic"}
OWN = {"kind": "python", "target": "mylab.learner:MyLearner"}


def declared(**changes: Any) -> Columns:
    return Columns.model_validate({"columns": [AGE, SEX], "target": DIAGNOSIS, **changes})


def table_job(**sections: Any) -> Job:
    data = {"kind": "csv", "file": "x.csv", "columns": [AGE, SEX], "target": DIAGNOSIS, **sections.pop("data", {})}
    return Job.model_validate({**SMALL_JOB, "learner": LOGISTIC, "evaluation": {}, "data": data, **sections})


@pytest.mark.parametrize(
    ("column", "inputs"),
    [
        (AGE, 1),
        ({**AGE, "missing": "indicator"}, 2),
        (SEX, 2),
        ({**SEX, "other": True}, 3),
        ({**SEX, "other": True, "missing": "indicator"}, 4),
    ],
)
def test_a_column_says_how_many_inputs_it_becomes(column: dict[str, Any], inputs: int) -> None:
    kind = NumberColumn if column["kind"] == "number" else CategoryColumn
    assert kind.model_validate(column).inputs == inputs
    assert declared(columns=[column]).inputs == inputs


def test_numbers_that_stand_for_values_are_texts() -> None:
    assert declared(target={**DIAGNOSIS, "values": [0, 1]}).target.values == ("0", "1")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "changes",
    [
        {"columns": []},
        {"columns": [AGE, AGE]},
        {"columns": [DIAGNOSIS]},
        {"columns": [{**AGE, "range": [100, 0]}]},
        {"columns": [{**AGE, "range": [1, 1]}]},
        {"columns": [{**AGE, "range": [0, float("inf")]}]},
        {"columns": [{**AGE, "range": [-1e308, 1e308]}]},
        {"columns": [{**AGE, "range": [0, 1, 2]}]},
        {"columns": [{**AGE, "scale": "log"}]},
        {"columns": [{"name": "age", "kind": "number"}]},
        {"columns": [{**AGE, "missing": "zeros"}]},
        {"columns": [{**SEX, "missing": "middle"}]},
        {"columns": [{**SEX, "values": ["f", "f"]}]},
        {"columns": [{**SEX, "values": ["f", " m"]}]},
        {"columns": [{**SEX, "values": ["f", ""]}]},
        {"columns": [{**SEX, "values": []}]},
        {"columns": [{**SEX, "values": [True, False]}]},
        {"columns": [{**SEX, "name": "se\nx"}]},
        {"target": {**DIAGNOSIS, "values": ["benign"]}},
        {"target": {**DIAGNOSIS, "missing": "zeros"}},
        {"target": {"name": "size", "kind": "number"}},
    ],
)
def test_a_declaration_that_is_none_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        declared(**changes)


@pytest.mark.parametrize(
    "sections",
    [
        {"learner": {"kind": "gan"}},
        {"learner": {"kind": "embedding"}},
        {"data": {"target": SIZE}},
        {"data": {"side": 28}},
        {"data": {"file": None}},
        {"data": {"folder": "tables"}},
    ],
)
def test_a_job_on_a_table_must_fit_its_learner_and_its_place(sections: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        table_job(**sections)


def test_a_measured_target_is_for_learners_of_the_users_own() -> None:
    assert table_job(learner=OWN, data={"target": SIZE}).data.declared.target.classes == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("given", ["columns", "target"])
def test_a_deployed_job_declares_columns_and_target_or_neither(given: str) -> None:
    whole = {"kind": "at_silos", "columns": [AGE, SEX], "target": DIAGNOSIS}
    sections = {**SMALL_JOB, "learner": LOGISTIC, "evaluation": {}}
    job = Job.model_validate({**sections, "data": whole})
    assert job.data.declared == declared()
    assert Job.model_validate({**sections, "data": {"kind": "at_silos"}}).data.declared is None
    with pytest.raises(ValidationError):
        Job.model_validate({**sections, "data": {"kind": "at_silos", given: whole[given]}})
    with pytest.raises(ValidationError):
        Job.model_validate({**sections, "data": {**whole, "columns": [DIAGNOSIS]}})


def test_the_declaration_is_part_of_what_silos_agree_on() -> None:
    other = table_job(data={"columns": [{**AGE, "range": [0, 101]}, SEX]})
    assert table_job().digest != other.digest
    assert Job.model_validate_json(table_job().model_dump_json()) == table_job()
