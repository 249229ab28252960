"""`siloseal digest` and `siloseal check-learner`, as a user types them."""

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from siloseal.cli.app import main
from siloseal.federation.job.sections.learners import AllowedLearner
from siloseal.models.user_code import places

Ran = tuple[int, str, str]

LEARNER = """\
import torch
import siloseal


class Linear(siloseal.ModuleLearner):
    def __init__(self, shape, classes, options):
        super().__init__(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(shape[0] * shape[1], classes)))
        self.power = options["power"]

    def row_losses(self, rows):
        return self.private_module(rows.inputs).abs().pow(self.power).sum(1)


class Drawing(Linear):
    def row_losses(self, rows):
        return super().row_losses(rows) * torch.rand(len(rows.inputs))


class Batched(Linear):
    def row_losses(self, rows):
        return super().row_losses(rows) / max(1, len(rows.inputs))
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """The command in a folder with a learner in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "_FOLDERS", [])
    (tmp_path / "typed_learner.py").write_text(LEARNER)
    monkeypatch.delitem(sys.modules, "typed_learner", raising=False)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])

    def run(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["siloseal", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    return run


class TestDigest:
    def test_of_code_is_printed_with_the_lines_for_job_and_policy(self, run: Callable[..., Ran]) -> None:
        digest = f"sha256:{hashlib.sha256(LEARNER.encode()).hexdigest()}"
        code, out, _ = run("digest", "typed_learner:Linear")
        assert code == 0
        assert out.splitlines()[0] == digest
        assert f"source: {digest}" in out
        assert f'- "python:typed_learner:Linear@{digest}"' in out
        shown = json.loads(run("digest", "typed_learner:Linear", "--json")[1])
        assert (shown["digest"], [Path(file).name for file in shown["files"]]) == (digest, ["typed_learner.py"])

    def test_of_weights_is_that_of_the_file(self, run: Callable[..., Ran]) -> None:
        Path("weights.safetensors").write_bytes(b"weights")
        _, out, _ = run("digest", "weights.safetensors")
        assert f"weights_source: sha256:{hashlib.sha256(b'weights').hexdigest()}" in out

    def test_of_a_name_that_the_file_does_not_have_is_refused(self, run: Callable[..., Ran]) -> None:
        code, out, err = run("digest", "typed_learner:Lineal")
        assert (code, out) == (2, "")
        assert "typed_learner.py" in err
        assert "typed_learner" not in sys.modules

    def test_looks_in_the_folder_that_is_given(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        (tmp_path / "code").mkdir()
        (tmp_path / "code" / "kept_apart.py").write_text("x = 1\n")
        assert run("digest", "kept_apart:x", "--folder", "code")[0] == 0

    @pytest.mark.parametrize("what", ["os:system", "nowhere.safetensors", "nowhere_to_be_found:x"])
    def test_of_nothing_is_an_error(self, run: Callable[..., Ran], what: str) -> None:
        code, _, err = run("digest", what)
        assert (code, what in err) == (2, True)

    def test_takes_a_place_in_a_policy(self, run: Callable[..., Ran]) -> None:
        from pydantic import TypeAdapter

        lines = json.loads(run("digest", "typed_learner:Linear", "--json")[1])["lines"]
        for where in ("policy, classifier", "policy, python"):
            TypeAdapter(AllowedLearner).validate_python(lines[where].removeprefix('- "').removesuffix('"'))


class TestCheckLearner:
    ARGUMENTS = ("--shape", "2,3", "--classes", "4")

    @pytest.mark.parametrize("options", [["power=2"], ['{"power": 2}']])
    def test_ends_well_where_all_promises_are_kept(self, run: Callable[..., Ran], options: list[str]) -> None:
        code, out, err = run("check-learner", "typed_learner:Linear", *self.ARGUMENTS, "--options", *options)
        assert (code, err) == (0, "")
        assert "broken" not in out

    def test_ends_with_1_and_names_what_is_broken(self, run: Callable[..., Ran]) -> None:
        code, out, _ = run("check-learner", "typed_learner:Batched", *self.ARGUMENTS, "--options", "power=2", "--json")
        broken = [found["promise"] for found in json.loads(out) if found["outcome"] == "broken"]
        assert (code, broken) == (1, ["a unit influences its own loss and gradient alone"])
        assert "broken" in run("check-learner", "typed_learner:Batched", *self.ARGUMENTS, "--options", "power=2")[1]

    def test_ends_with_3_where_something_could_not_be_tried(self, run: Callable[..., Ran]) -> None:
        typed = ("check-learner", "typed_learner:Drawing", *self.ARGUMENTS, "--options", "power=2")
        code, out, _ = run(*typed, "--json")
        assert (code, {found["outcome"] for found in json.loads(out)}) == (3, {"kept", "not tried"})
        assert "not tried" in run(*typed)[1]

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["typed_learner:Linear", *ARGUMENTS], "power"),
            (["typed_learner:Linear", *ARGUMENTS, "--options", "power"], "power"),
            (["typed_learner:Linear", *ARGUMENTS, "--options", "{power: 2}"], "{power: 2}"),
            (["typed_learner:Linear", "--shape", "a,b", "--classes", "4"], "a,b"),
            (["typed_learner:Linear", "--shape", "0,3", "--classes", "4"], "0, 3"),
            (["typed_learner:Linear", "--shape", "2,3"], "--classes"),
            (["typed_learner:Linear", "--classes", "4"], "--shape"),
            (["typed_learner", *ARGUMENTS], "MODULE:NAME"),
            (["typed_learner:torch", *ARGUMENTS], "torch"),
        ],
    )
    def test_what_is_typed_wrongly_is_an_error(self, run: Callable[..., Ran], arguments: list[str], says: str) -> None:
        code, _, err = run("check-learner", *arguments)
        assert (code, says in err) == (2, True)
