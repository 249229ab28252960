"""A deployed silo takes first weights from its own folder `code` alone, and a refusal tells nobody what lies where."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from siloseal.federation.errors import CodeMismatch
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.supervised import ClassifierConfig
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.errors_pb2 import ErrorCode
from siloseal.models.user_code import places
from siloseal.silo.data.examples import Examples
from siloseal.silo.own_weights import require_own_weights
from siloseal.silo.participation import Participation

from .test_participation import Desk, reply_of, request

ANOTHER = f"sha256:{'0' * 64}"


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the silo's operator has filled, and a file beside it that is none of the aggregator's business."""
    (folder := tmp_path / "code").mkdir()
    tensors = {"1.weight": torch.zeros(10, 64), "1.bias": torch.zeros(10)}
    safetensors.torch.save_file(tensors, folder / "first.safetensors")
    safetensors.torch.save_file(tensors, tmp_path / "private.safetensors")
    (folder / "link.safetensors").symlink_to(tmp_path / "private.safetensors")
    (folder / "circle.safetensors").symlink_to(folder / "circle.safetensors")
    (folder / "within.safetensors").symlink_to("first.safetensors")
    monkeypatch.setattr(places, "_FOLDERS", [folder])
    monkeypatch.setenv("OWN_WEIGHTS", str(tmp_path))
    return folder


@pytest.fixture
def digest(code: Path) -> str:
    return f"sha256:{hashlib.sha256((code / 'first.safetensors').read_bytes()).hexdigest()}"


@pytest.fixture
def opened(code: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files of weights that were opened."""
    found, really_open, really_read = list[Path](), Path.open, Path.read_bytes

    def noting(path: Path, *arguments: Any, **others: Any) -> Any:
        if path.suffix == ".safetensors":
            found.append(path)
        return really_open(path, *arguments, **others)

    def noting_bytes(path: Path) -> bytes:
        if path.suffix == ".safetensors":
            found.append(path)
        return really_read(path)

    monkeypatch.setattr(Path, "open", noting)
    monkeypatch.setattr(Path, "read_bytes", noting_bytes)
    return found


@pytest.fixture
def desk(small_job: Callable[..., Job], digits: Examples, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(small_job, digits, tmp_path / "state")
    yield desk
    for part in desk.made:
        part.close()


def learner(weights: str | Path, digest: str | None) -> ClassifierConfig:
    return ClassifierConfig(kind="classifier", model="logistic", weights=Path(weights), weights_source=digest)


def offered(
    desk: Desk, config: ClassifierConfig, code: Path | None, learners: tuple[str, ...] = ("classifier",), **policy: Any
) -> Participation:
    job = desk.job(learner=config.model_dump(mode="json"), evaluation={})
    return desk.offered(job, policy={"learners": [*learners], **policy}, code=code)


def refusal(desk: Desk, part: Participation) -> pb.Refusal:
    return reply_of(part, request(desk.job())).refusal


@pytest.mark.parametrize("name", ["first.safetensors", "./first.safetensors", "within.safetensors"])
def test_weights_in_the_silos_own_folder_are_taken(desk: Desk, code: Path, digest: str, name: str) -> None:
    assert offered(desk, learner(name, digest), code).refused == ""


@pytest.mark.parametrize(
    "path",
    ["{}/private.safetensors", "../private.safetensors", "${{OWN_WEIGHTS}}/private.safetensors", "~/x.safetensors"],
)
def test_a_path_that_leads_elsewhere_is_refused_before_anything_is_opened(
    desk: Desk, code: Path, digest: str, opened: list[Path], path: str
) -> None:
    part = offered(desk, learner(path.format(code.parent), digest), code)
    assert refusal(desk, part).code == ErrorCode.POLICY_REFUSED
    assert opened == []
    with pytest.raises(CodeMismatch):
        require_own_weights(learner(path.format(code.parent), digest), code)
    assert opened == []


@pytest.mark.parametrize("name", ["first.safetensors", "absent.safetensors"])
def test_weights_without_a_digest_are_refused_whether_they_are_here_or_not(
    desk: Desk, code: Path, digest: str, opened: list[Path], name: str
) -> None:
    found = refusal(desk, offered(desk, learner(name, None), code))
    assert (found.code, digest in found.message) == (ErrorCode.POLICY_REFUSED, False)
    assert opened == []


@pytest.mark.parametrize("policy", [{"learners": ("gan",)}, {"largest_epsilon": 0.1}, {"largest_model": 5}])
def test_the_policy_is_asked_before_anything_is_opened(
    desk: Desk, code: Path, digest: str, opened: list[Path], policy: dict[str, Any]
) -> None:
    assert refusal(desk, offered(desk, learner("first.safetensors", digest), code, **policy)).code == (
        ErrorCode.POLICY_REFUSED
    )
    assert opened == []


def test_absent_and_mismatching_files_and_links_out_are_one_refusal(desk: Desk, code: Path, digest: str) -> None:
    (code / "closed").mkdir(mode=0)
    names = ("absent.safetensors", "link.safetensors", "circle.safetensors", "closed/x", "n" * 5000, ".")
    parts = [offered(desk, learner(name, digest), code) for name in names]
    parts += [offered(desk, learner("first.safetensors", ANOTHER), code)]
    parts += [offered(desk, learner("first.safetensors", digest), None)]
    replies = [refusal(desk, part) for part in parts]
    assert {(reply.code, reply.message) for reply in replies} == {(ErrorCode.CODE_MISMATCH, replies[0].message)}
    assert not any(str(word) in replies[0].message for word in (code, digest))
    log = (desk.state / "refusals.log").read_text()
    assert all(str(word) in log for word in (code / "absent.safetensors", code / "link.safetensors", digest))
    assert not desk.folder().exists()


def test_weights_that_do_not_fit_leave_no_trace(desk: Desk, code: Path) -> None:
    safetensors.torch.save_file({"1.bias": torch.zeros(10)}, code / "part.safetensors")
    found = f"sha256:{hashlib.sha256((code / 'part.safetensors').read_bytes()).hexdigest()}"
    part = offered(desk, learner("part.safetensors", found), code)
    assert "ConfigError" in part.refused
    assert not desk.folder().exists()
