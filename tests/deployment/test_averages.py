"""Three hospitals' own training scripts, each a process, that average over the network: the docs' ten lines, and trouble."""

import json
import os
import runpy
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from siloseal.cli.app import app
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.job.weighting import weigh

from .conftest import NAMES, POLICY, Consortium
from .evidence import audit_lines, journal_replies
from .parties import CONTEXT, PATIENCE_SECONDS, Party

ALLOWED = {**POLICY, "averages": True}
EXAMPLES = {"north": 300, "east": 2000, "south": 700}
SHAPE = (6, 5)
SCRIPT = """
import json, os, sys, threading
import torch
import siloseal

silo, examples, seed, outputs, epochs, trouble = json.loads(sys.argv[1])

def train_my_own_way(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.125 * seed

torch.manual_seed(seed)
module, found, error = torch.nn.Linear(6, outputs), [], ""
try:
    with siloseal.open_session("silo.yaml") as session:
        first = session.restore(module)
        for epoch in range(first, epochs):
            train_my_own_way(module)
            if trouble == "dies" and epoch == 1:
                os.kill(os.getpid(), 9)
            if trouble == "sleeps":
                threading.Event().wait()  # until it is killed
            if trouble == "fails" and epoch == 1:
                raise ZeroDivisionError
            average = siloseal.sealed_average(module, weight=examples, session=session)
            found.append([average.number, sorted(average.contributors), average.error_bound])
except (siloseal.SiloSealError, ZeroDivisionError) as caught:
    error = f"{type(caught).__name__}: {caught}"
values = [value for parameter in module.parameters() for value in parameter.detach().flatten().tolist()]
with open("result.json", "w") as file:
    json.dump({"found": found, "values": values, "error": error, "first": first if not error else None}, file)
"""


def _main(folder: Path, arguments: list[Any]) -> None:
    """In the child: what `python train.py ARGUMENTS` does in the silo's folder."""
    from siloseal.federation.transport import backoff

    backoff.FIRST_SECONDS = backoff.LONGEST_SECONDS = 0.2
    os.chdir(folder)
    with (folder / "stderr.txt").open("a") as errors:
        os.dup2(errors.fileno(), 2)
    sys.argv = ["train.py", json.dumps(arguments)]
    runpy.run_path("train.py", run_name="__main__")
    os._exit(0)


class Script:
    """A hospital's script, as a process that can be killed and started again."""

    def __init__(self, folder: Path, silo: str) -> None:
        self.folder, self.silo = folder, silo
        (folder / "train.py").write_text(SCRIPT)
        self._process: Any = None

    def start(self, *, outputs: int = SHAPE[1], epochs: int = 2, trouble: str = "") -> "Script":
        seed = 1 + NAMES.index(self.silo)
        arguments = [self.silo, EXAMPLES[self.silo], seed, outputs, epochs, trouble]
        self._process = CONTEXT.Process(target=_main, args=(self.folder, arguments), daemon=True)
        self._process.start()
        return self

    def wait(self) -> int:
        self._process.join(PATIENCE_SECONDS)
        assert self._process.exitcode is not None, (self.folder / "stderr.txt").read_text()
        return int(self._process.exitcode)

    def result(self) -> dict[str, Any]:
        assert self.wait() == 0, (self.folder / "stderr.txt").read_text()
        found: dict[str, Any] = json.loads((self.folder / "result.json").read_text())
        return found

    def kill(self) -> None:
        if self._process is not None and self._process.is_alive():
            os.kill(self._process.pid, signal.SIGKILL)
            self.wait()


class Hospitals:
    """A consortium whose silos are scripts."""

    def __init__(self, folder: Path, policy: dict[str, Any], sections: dict[str, Any]) -> None:
        job = AverageJob.model_validate(
            {
                "name": "xray",
                "silos": {"names": list(NAMES)},
                "secure_sum": {"kind": "ckks"},
                "averages": 5,
                "largest_silo": 5000,
                **sections,
            }
        )
        data = {name: {"kind": "script"} for name in NAMES}
        self.consortium = Consortium(folder, job, data=data, policy=policy)
        self.scripts = {name: Script(self.consortium.kits / name, name) for name in NAMES}

    @property
    def aggregator(self) -> Party:
        return self.consortium.aggregator

    def kept(self) -> dict[str, Any]:
        """The content of averages.json, when the aggregator has ended well."""
        assert self.aggregator.wait() == 0, self.aggregator.said("error")
        found: dict[str, Any] = json.loads((self.consortium.state("aggregator") / "averages.json").read_text())
        return found

    def stop(self) -> None:
        for script in self.scripts.values():
            script.kill()
        self.consortium.stop()


HospitalsOf = Callable[..., Hospitals]


@pytest.fixture
def hospitals_of(tmp_path: Path) -> Iterator[HospitalsOf]:
    made = list[Hospitals]()

    def make(policy: dict[str, Any] | None = None, **sections: Any) -> Hospitals:
        made.append(Hospitals(tmp_path / str(len(made)), policy or ALLOWED, sections))
        return made[-1]

    yield make
    for hospitals in made:
        hospitals.stop()


def trained(values: np.ndarray, silo: str) -> np.ndarray:
    return values + 0.125 * (1 + NAMES.index(silo))


def first_values(silo: str) -> np.ndarray:
    import torch

    torch.manual_seed(1 + NAMES.index(silo))
    module = torch.nn.Linear(*SHAPE)
    return np.concatenate([parameter.detach().numpy().ravel() for parameter in module.parameters()]).astype(np.float64)


def expected(averages: int, silos: tuple[str, ...] = NAMES) -> np.ndarray:
    """The exact average after some rounds in which these silos train."""
    values = {silo: first_values(silo) for silo in silos}
    for _ in range(averages):
        given = [EXAMPLES[silo] * trained(values[silo], silo) for silo in silos]
        mean = np.asarray(sum(given) / sum(EXAMPLES[silo] for silo in silos))
        values = dict.fromkeys(silos, mean)
    return values[silos[0]]


def test_the_kit_of_a_silo_with_a_script_says_how_to_start_it(hospitals_of: HospitalsOf) -> None:
    page = (hospitals_of().consortium.kits / "north" / "START.md").read_text()
    assert "siloseal.open_session" in page
    assert "siloseal silo --config" not in page


def test_three_scripts_average_and_nobody_was_sent_what_one_of_them_has(hospitals_of: HospitalsOf) -> None:
    hospitals = hospitals_of()
    hospitals.aggregator.start()
    for script in hospitals.scripts.values():
        script.start()
    found = {silo: script.result() for silo, script in hospitals.scripts.items()}
    kept = hospitals.kept()
    assert {each["error"] for each in found.values()} == {""}
    assert found["north"]["values"] == found["east"]["values"] == found["south"]["values"]
    bound = sum(average[2] for average in found["north"]["found"])
    assert np.abs(np.array(found["north"]["values"]) - expected(2)).max() <= bound < 1e-4
    assert [average[:2] for average in found["east"]["found"]] == [[1, sorted(NAMES)], [2, sorted(NAMES)]]
    assert [(each["number"], sorted(each["contributors"])) for each in kept["averages"]] == [
        (1, sorted(NAMES)),
        (2, sorted(NAMES)),
    ]
    sent = b"".join(reply for _, _, reply in journal_replies(hospitals.consortium))
    for silo in NAMES:
        values = trained(first_values(silo), silo)
        rows = (values, weigh(values, weight=EXAMPLES[silo], largest=5000))
        parts = [row.astype(kind)[:2].tobytes() for row in rows for kind in ("<f4", "<f8")]
        assert not [part for part in parts if part in sent]
    for party in ("aggregator", *NAMES):
        log = hospitals.consortium.state(party) / "audit.jsonl"
        assert CliRunner().invoke(app, ["audit", "verify", str(log)]).exit_code == 0
    assert [line["what"] for line in audit_lines(hospitals.consortium, "north", "answers")].count("average") == 3


@pytest.mark.parametrize("trouble", ["dies", "fails"])
def test_a_script_that_is_killed_or_fails_goes_on_from_the_last_average(
    hospitals_of: HospitalsOf, trouble: str
) -> None:
    hospitals = hospitals_of(secure_sum={"kind": "secagg"})
    hospitals.aggregator.start()
    for silo, script in hospitals.scripts.items():
        script.start(trouble=trouble if silo == "east" else "")
    east = hospitals.scripts["east"]
    assert east.wait() == (-signal.SIGKILL if trouble == "dies" else 0)
    east.start()
    found = {silo: script.result() for silo, script in hospitals.scripts.items()}
    assert {each["error"] for each in found.values()} == {""}
    assert found["east"]["first"] == 1
    assert found["north"]["values"] == found["east"]["values"] == found["south"]["values"]
    assert np.abs(np.array(found["north"]["values"]) - expected(2)).max() < 1e-4
    assert len(hospitals.kept()["averages"]) == 2


def test_another_run_in_place_of_the_one_under_way_is_refused_and_ends_the_script(hospitals_of: HospitalsOf) -> None:
    hospitals = hospitals_of(secure_sum={"kind": "secagg"})
    hospitals.aggregator.start()
    for silo, script in hospitals.scripts.items():
        script.start(trouble="" if silo == "north" else "sleeps")
    hospitals.aggregator.wait_for("asks", what="average")
    hospitals.aggregator.kill()
    for silo in ("east", "south"):
        hospitals.scripts[silo].kill()
    shutil.rmtree(hospitals.consortium.state("aggregator"))
    hospitals.aggregator.start()
    assert hospitals.scripts["north"].result()["error"].startswith("SessionMismatch")
    assert hospitals.aggregator.wait() == 1
    assert hospitals.aggregator.wait_for("error")["type"] == "SiloRefused"


def test_a_script_killed_at_the_end_of_its_run_leaves_that_run_before_it_takes_part_in_the_next(
    hospitals_of: HospitalsOf,
) -> None:
    hospitals = hospitals_of(secure_sum={"kind": "secagg"})
    hospitals.aggregator.start()
    for script in hospitals.scripts.values():
        script.start()
    assert {script.result()["error"] for script in hospitals.scripts.values()} == {""}
    hospitals.kept()
    left = hospitals.consortium.run_folder("north") / "left"
    left.unlink()  # as if it had been killed after its last reply
    shutil.rmtree(hospitals.consortium.state("aggregator"))
    hospitals.aggregator.start()
    north = hospitals.scripts["north"]
    assert north.start().result()["first"] == 2
    assert left.exists()
    for script in hospitals.scripts.values():
        script.start()
    assert {script.result()["first"] for script in hospitals.scripts.values()} == {0}
    assert len(hospitals.kept()["averages"]) == 2


def test_a_silo_that_stays_away_is_left_out_where_the_job_allows_it(hospitals_of: HospitalsOf) -> None:
    silos = {"names": list(NAMES), "fewest": 2}
    hospitals = hospitals_of(silos=silos, secure_sum={"kind": "secagg", "threshold": 2})
    hospitals.consortium.edit("aggregator", deadlines={"training_minutes": 0.01})
    hospitals.aggregator.start()
    for silo, script in hospitals.scripts.items():
        script.start(trouble="sleeps" if silo == "south" else "")
    hospitals.aggregator.wait_for("asks", what="average")  # everyone has enrolled
    hospitals.scripts["south"].kill()
    found = {silo: hospitals.scripts[silo].result() for silo in ("north", "east")}
    assert {each["error"] for each in found.values()} == {""}
    assert found["north"]["values"] == found["east"]["values"]
    assert [average[1] for average in found["north"]["found"]] == [["east", "north"]] * 2
    assert np.abs(np.array(found["north"]["values"]) - expected(2, ("north", "east"))).max() < 1e-4


def test_modules_that_differ_end_every_script_with_both_sides_named(hospitals_of: HospitalsOf) -> None:
    hospitals = hospitals_of(secure_sum={"kind": "secagg"})
    hospitals.aggregator.start()
    for silo, script in hospitals.scripts.items():
        script.start(outputs=7 if silo == "south" else SHAPE[1])
    found = {silo: script.result() for silo, script in hospitals.scripts.items()}
    for silo, each in found.items():
        assert each["error"].startswith("RunError")
        assert all(part in each["error"] for part in ("south", "weight", "(7, 6)", "(5, 6)"))
        if silo != "south":
            assert np.allclose(each["values"], trained(first_values(silo), silo))
    assert "south" in hospitals.kept()["ended"]


def test_a_silo_whose_policy_does_not_name_averages_refuses_before_anything_is_given(
    hospitals_of: HospitalsOf,
) -> None:
    hospitals = hospitals_of({**POLICY, "largest_epsilon": 1000})
    hospitals.aggregator.start()
    found = hospitals.scripts["north"].start().result()
    assert found["error"].startswith("SiloRefused")
    assert "policy.averages" in found["error"]
    assert hospitals.aggregator.wait() == 1
    assert "policy.averages" in hospitals.aggregator.wait_for("error")["words"]
    assert not list(hospitals.consortium.state("north").glob("runs/*/checkpoint.safetensors"))


def test_a_silo_without_a_script_refuses_a_job_of_averages(hospitals_of: HospitalsOf) -> None:
    hospitals = hospitals_of()
    hospitals.consortium.edit("north", data={"kind": "digits", "limit": 100})
    hospitals.aggregator.start()
    hospitals.consortium.silos["north"].start()
    assert hospitals.aggregator.wait() == 1
    assert "open_session" in hospitals.aggregator.wait_for("error")["words"]


def test_a_script_refuses_a_job_that_trains(consortium_of: Callable[..., Consortium]) -> None:
    consortium = consortium_of()
    consortium.aggregator.start()
    script = Script(consortium.kits / "north", "north")
    try:
        assert script.start().result()["error"].startswith("SiloRefused")
        assert consortium.aggregator.wait() == 1
    finally:
        script.kill()
