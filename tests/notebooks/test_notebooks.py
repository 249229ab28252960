"""The walkthroughs: each runs to its end, shows what its text says that it shows, and is kept without outputs."""

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
SECONDS_A_CELL = 120

# What the text of a notebook promises of its outputs: texts and titles of pictures, each as a pattern.
SHOWN = {
    "01": [r"The federation reaches 0\.\d\d, the best silo alone 0\.\d\d"],
    "02": [
        r"c of north .* = \(-55, 734, 599, 751\)",
        r"rounded and read +(\(3, 6, 2, 5\) and \(6, 4, 4, 3\))\nthe values added up +\1",
        r"as small numbers, this is +(\(0, 2, -3, 2\)) +and S is \1",
        r"of 81 keys, 12 fit S, and north's is one of them: True",
        r"its deviation falls from 6\.63 to 4\.69",
        r"a value of the sum: 1,310,711 numbers, 20\.32 bits, 2\.54 bytes",
        r"who may collude .* n = 10 silos, 3\n",
        r"ckks sends 2\.6\d\d bytes a value",
        r"round 3, upload .*\{11\}, of centre, east, north, south\n.*round 4, confirm .*\{15\}, of .* west\n",
        r"UploadCopied: an upload came as west's (.|\n)*UploadCopied: west uploaded the ciphertext",
        r"4 confirm +the silos are asked the same: True\n5 reveal +the silos are asked the same: True\n",
        r"west sends noise: OpeningFailed(.|\n)*west adds 100: the entries of the sum are \[15, 115\]",
        r"the error 0 and the message 10: (-425)\neast's upload begins with \1",
        r"1 key passes, \(1, 0, -1, 1\)",
        r"ShareReused",
        r"so 4 values\nat 21 bits: .*, so 3 values",
    ],
    "03": [r"who may collude .* n = 5 silos, 2\n", r"who may collude .* n = 100 silos, 5\n"],
    "05": [r"sums +ckks after phase 1, ckks in tuning rounds"],
    "06": [
        r"whoever holds the authority can pose as every silo",
        r"impostor: UNAVAILABLE\n(.|\n)*operator: is told of the job",
        r"restored: \d+ lines, unbroken",
    ],
    "07": [
        r"the audit +sound, and epsilon \d\.\d\d at least",
        r"half_noise +broken, .*\nclip_too_wide +broken, .*\nreused_noise +broken, .*\nfloat_noise +broken, ",
        r"plain yields to: reads_uploads",
        r"secagg yields to: two_sessions\nckks yields to: two_sessions\n",
        r"ckks_joint_key yields to: two_sessions, malformed_c1, constant_upload\n",
        r"ckks_one_key yields to: (.*, )?opens_one",
        r"paillier yields to: (.*, )?opens_one",
    ],
    "08": [
        r"The model of all is least accurate for (north|east|south): 0\.\d\d",
        r"pooled, no privacy +0\.\d+ +[01]\.\d+\ngenerated images +0\.\d+ +0\.\d+\n",
    ],
}

LONG = ("07", "08")
"""Notebooks that take more than twenty seconds, and whose attacks and trainings are run by tests of their own."""

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def text_of(output: NotebookNode) -> str:
    """What was printed, or the title of a picture."""
    return str(output.get("text") or output.get("metadata", {}).get("image/png", {}).get("alt", ""))


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to run in, and a kernel that is this interpreter, whatever kernels the machine has."""
    kernel = tmp_path / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": start, "display_name": "Python 3", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for name in ("temporary", "here"):
        (tmp_path / name).mkdir()
    return tmp_path / "here"


def run(notebook: NotebookNode, workplace: Path) -> NotebookNode:
    client = NotebookClient(
        notebook, kernel_name="python3", timeout=SECONDS_A_CELL, resources={"metadata": {"path": str(workplace)}}
    )
    return client.execute()


def test_there_is_a_notebook_for_each_subject() -> None:
    assert [path.stem[:2] for path in NOTEBOOKS] == [f"{number:02d}" for number in range(1, len(NOTEBOOKS) + 1)]
    assert len(NOTEBOOKS) >= 6


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.slow] * (path.stem[:2] in LONG), id=path.stem) for path in NOTEBOOKS],
)
def test_runs_to_its_end_shows_what_it_says_and_leaves_nothing_behind(path: Path, workplace: Path) -> None:
    done = run(nbformat.read(path, as_version=4), workplace)
    for cell in code_cells(done):
        errors = [out.text for out in cell.outputs if out.output_type == "stream" and out.name == "stderr"]
        assert not errors, cell.source
    shown = [out for cell in code_cells(done) for out in cell.outputs]
    assert any("image/png" in out.get("data", {}) for out in shown)
    assert code_cells(done)[-1].outputs
    text = "".join(text_of(out) for out in shown)
    assert [pattern for pattern in SHOWN.get(path.stem[:2], []) if not re.search(pattern, text)] == [], text
    assert list(workplace.iterdir()) == []
    assert [left.name for left in (workplace.parent / "temporary").iterdir() if "siloseal" in left.name] == []


@every_notebook
def test_defines_nothing(path: Path) -> None:
    """Whatever needs a function belongs in a module, where it is typed and tested."""
    for cell in code_cells(nbformat.read(path, as_version=4)):
        assert not [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, DEFINITIONS)], cell.source


@every_notebook
def test_is_kept_without_outputs_and_with_the_least_metadata(path: Path) -> None:
    notebook: dict[str, Any] = json.loads(path.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert set(notebook["metadata"]) == {"kernelspec"}
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        assert cell["metadata"] == {}
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@every_notebook
def test_says_what_it_shows_before_each_step_and_where_to_go_at_the_end(path: Path) -> None:
    kinds = [cell.cell_type for cell in nbformat.read(path, as_version=4).cells]
    assert kinds == ["markdown", "code"] * (len(kinds) // 2) + ["markdown"]
    assert "**Next:**" in nbformat.read(path, as_version=4).cells[-1].source


@every_notebook
def test_links_only_to_notebooks_that_are_there(path: Path) -> None:
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")
    linked = [part.split(")")[0] for part in text.split("](")[1:]]
    assert [link for link in linked if not (FOLDER / link).exists()] == []


def _processes_in(folder: Path) -> Iterator[str]:
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = command.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has just ended
            continue
        if str(folder) in words and "siloseal" in words:
            yield words


def test_a_deployment_whose_cell_fails_leaves_no_process_and_no_key(workplace: Path) -> None:
    notebook = nbformat.read(next(path for path in NOTEBOOKS if path.stem.startswith("06")), as_version=4)
    began = next(number for number, cell in enumerate(notebook.cells) if "hospitals.start" in cell.source)
    failing = "hospitals.start('aggregator')\nraise SystemError('a cell that fails')"
    after = "print(hospitals.folder.exists())"
    notebook.cells = [*notebook.cells[:began], nbformat.v4.new_code_cell(failing), nbformat.v4.new_code_cell(after)]
    notebook.cells[-2].metadata["tags"] = ["raises-exception"]
    done = run(notebook, workplace)
    assert "a cell that fails" in str(done.cells[-2].outputs)
    assert done.cells[-1].outputs[0].text == "False\n"
    assert list(_processes_in(workplace.parent)) == []


def test_a_failing_cell_fails_the_test(workplace: Path) -> None:
    broken = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        run(broken, workplace)
