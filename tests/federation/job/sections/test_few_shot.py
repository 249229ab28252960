"""Which learner goes with which guarantee, data and start: what a job must not combine."""

from typing import Any

import pytest
from pydantic import ValidationError

from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.evaluation import FewShotTasks, GeneratedImages
from tests.conftest import SMALL_JOB

TASK_LEVEL = {"kind": "task_level", "epsilon": 10, "delta": 1e-3}
EXAMPLE_LEVEL = {"kind": "example_level", "epsilon": 8, "delta": 1e-4}
OFF = {"kind": "none"}
TURNED = {"kind": "omniglot", "folder": "/data/omniglot", "rotations": True}
EPISODIC = ("protonet", "reptile", "meta_lstm")


def job(**sections: Any) -> Job:
    few_shot = {"data": {"kind": "strokes"}, "learner": {"kind": "protonet"}, "privacy": TASK_LEVEL, "evaluation": {}}
    return Job.model_validate({**SMALL_JOB, **few_shot, **sections})


@pytest.mark.parametrize("kind", EPISODIC)
def test_a_learner_of_tasks_is_counted_in_tasks(kind: str) -> None:
    made = job(learner={"kind": kind})
    assert made.units == "tasks"
    assert made.learner.episodes == "fixed"  # type: ignore[union-attr]


def test_an_embedding_is_counted_in_examples() -> None:
    assert job(learner={"kind": "embedding"}, privacy=EXAMPLE_LEVEL).units == "examples"


def test_a_model_is_measured_as_fits_it_unless_the_job_says_otherwise() -> None:
    assert isinstance(job().evaluation, FewShotTasks)
    assert isinstance(Job.model_validate(SMALL_JOB).evaluation, GeneratedImages)


@pytest.mark.parametrize("kind", EPISODIC)
@pytest.mark.parametrize("privacy", [TASK_LEVEL, {"kind": "silo_level", "epsilon": 8, "delta": 1e-3}])
def test_fresh_episodes_are_refused_unless_privacy_is_off_by_name(kind: str, privacy: dict[str, Any]) -> None:
    mechanism = {"kind": "gaussian_local"} if privacy["kind"] == "silo_level" else None
    with pytest.raises(ValidationError, match=r"learner\.episodes .*kind: none"):
        job(learner={"kind": kind, "episodes": "fresh"}, privacy=privacy, mechanism=mechanism)
    job(learner={"kind": kind, "episodes": "fresh"}, privacy=OFF)


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"privacy": EXAMPLE_LEVEL}, r"example_level, .*learner\.kind protonet.*task_level"),
        ({"learner": {"kind": "embedding"}}, r"task_level, .*learner\.kind embedding.*example_level"),
        (
            {"learner": {"kind": "gan"}, "data": {"kind": "digits"}},
            r"task_level, .*learner\.kind gan.*example_level",
        ),
        ({"data": {"kind": "digits"}}, r"data\.hold_out"),
        (
            {"warm_start": {"kind": "kernel_mean", "epsilon": 1}},
            r"warm_start\.kind is kernel_mean.*\bnone\b.*leader",
        ),
        ({"evaluation": {"kind": "generated"}}, r"evaluation\.kind is generated"),
        ({"learner": {"kind": "meta_lstm", "network": "wavelets"}}, "network"),
        ({"learner": {"kind": "protonet", "filters": 30}}, r"learner\.protonet\.filters"),
        ({"learner": {"kind": "maml"}}, "meta_lstm"),
        ({"learner": {"kind": "reptile", "inner_steps": 1}}, r"learner\.reptile\.inner_steps"),
        ({"evaluation": {"shots": [1, 1]}}, r"evaluation\.few_shot\.shots"),
    ],
)
def test_what_does_not_go_together_is_refused_with_what_to_change(sections: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        job(**sections)


@pytest.mark.parametrize("data", [{"kind": "digits", "hold_out": "classes"}, {"kind": "at_silos"}])
def test_data_that_hold_out_classes_will_do(data: dict[str, Any]) -> None:
    assert job(data=data).data.holds_out_classes


def test_a_leader_may_start_a_few_shot_model() -> None:
    assert job(warm_start={"kind": "leader", "silo": "east"}).warm_start.kind == "leader"


class TestCopies:
    """An image that is four examples is covered four times over by a guarantee for one."""

    def test_they_are_refused_where_units_are_protected(self) -> None:
        with pytest.raises(ValidationError, match=r"data\.rotations .*kind: none"):
            job(data=TURNED)
        assert job(data={**TURNED, "rotations": False}).data.kind == "omniglot"

    def test_they_are_allowed_without_privacy(self) -> None:
        assert job(data=TURNED, privacy=OFF).privacy.kind == "none"
