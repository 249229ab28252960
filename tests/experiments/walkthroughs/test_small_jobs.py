"""Walkthroughs change single fields of a shipped job, or put a section of another kind in its place."""

from siloseal.experiments.walkthroughs.small_jobs import small_job


def test_a_field_is_replaced_and_the_others_of_its_section_stay() -> None:
    job = small_job("digits.yaml", {"schedule": {"local_steps": 3}})
    assert job.schedule.kind == "two_phase"
    assert (job.schedule.local_steps, job.schedule.tuning_rounds) == (3, 3)


def test_a_section_of_another_kind_takes_the_place_of_the_old_one() -> None:
    job = small_job("xray-classifier.yaml", {"data": {"kind": "embedded_mnist", "limit": 600}})
    assert job.data.kind == "embedded_mnist"
    assert job.data.limit == 600
