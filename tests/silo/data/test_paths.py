"""Where the data of a job are looked for: in the same places as code and weights of the user's own."""

from pathlib import Path

import pytest

from siloseal.federation.errors import DataError
from siloseal.models.user_code import places
from siloseal.silo.data.paths import likely_place, located, stays_inside

RECORDS = Path("tables/records.csv")


@pytest.fixture
def beside_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a job's file, which is not the current one."""
    for name in ("job", "here"):
        (tmp_path / name / "tables").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(places, "_FOLDERS", [tmp_path / "job", Path()])
    return tmp_path / "job"


def test_a_relative_path_is_found_beside_the_job_and_in_the_current_folder(beside_the_job: Path) -> None:
    assert likely_place(RECORDS) == Path.cwd() / RECORDS
    (beside_the_job / RECORDS).write_text("")
    assert located(RECORDS) == likely_place(RECORDS) == beside_the_job / RECORDS
    (beside_the_job / RECORDS).unlink()
    RECORDS.write_text("")
    assert located(RECORDS) == Path.cwd() / RECORDS


def test_data_in_two_places_are_refused_with_both(beside_the_job: Path) -> None:
    for place in (beside_the_job, Path()):
        (place / RECORDS).write_text("")
    with pytest.raises(DataError) as refused:
        located(RECORDS)
    assert all(str(place / RECORDS) in str(refused.value) for place in (beside_the_job, Path.cwd()))


def test_data_that_a_link_leads_to_are_in_one_place(beside_the_job: Path) -> None:
    """As weights are, for which the same holds."""
    (beside_the_job / RECORDS).write_text("")
    RECORDS.symlink_to(beside_the_job / RECORDS)
    assert located(RECORDS) == likely_place(RECORDS) == beside_the_job / RECORDS


def test_data_that_are_nowhere_are_refused_with_every_full_path_that_was_tried(beside_the_job: Path) -> None:
    with pytest.raises(DataError) as refused:
        located(RECORDS)
    assert all(str(place / RECORDS) in str(refused.value) for place in (beside_the_job, Path.cwd()))


def test_a_full_path_is_taken_as_it_is(beside_the_job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_DATA", str(beside_the_job))
    assert located(Path("${OWN_DATA}/nothing.npz")) == beside_the_job / "nothing.npz"


@pytest.mark.parametrize(("name", "inside"), [("a/b.png", True), ("/a", False), ("a/../../b", False), ("~/a", False)])
def test_a_name_in_an_archive_stays_inside(name: str, inside: bool) -> None:
    assert stays_inside(name) == inside
