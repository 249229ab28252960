"""The demo: a job among real processes on this machine, over mutual TLS on loopback, with everything in one view.

This process provisions a consortium, deals the data, starts the parties, listens to what they say and scores every
model that the aggregator releases. It takes no part in the job.
"""

import queue
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import yaml

from siloseal.aggregator.config import AggregatorConfig
from siloseal.aggregator.deployed import OUTCOME_FILE
from siloseal.cli.console import Console
from siloseal.federation.config.loading import to_yaml
from siloseal.federation.errors import RunError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.data import AtSilos, NpzFile
from siloseal.federation.job.sections.privacy import UnitLevel
from siloseal.federation.job.sections.schedule import TwoPhase
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.storage import make_folder, write_atomically
from siloseal.federation.transport.config import Tls
from siloseal.models.building import read_model
from siloseal.provisioning.kits import provision
from siloseal.runs.images import quantise
from siloseal.runs.processes import Event, Processes
from siloseal.runs.recorder import Recorder
from siloseal.runs.result import RunResult, from_state
from siloseal.runs.run import run_and_report
from siloseal.runs.simulation import declared_labels
from siloseal.runs.summary import RunSummary
from siloseal.silo.config import Address, Policy, SiloConfig
from siloseal.silo.data.labelled_images import LabelledImages
from siloseal.silo.training.trainer import TrainingProgress

AGGREGATOR = "aggregator"


def run_demo(job: Job, out: Path | None, console: Console) -> RunSummary:
    """Run, or go on with, the demo in its folder."""

    def federation(job: Job, parts: Mapping[str, LabelledImages], run_dir: Path, recorder: Recorder) -> RunResult:
        kits = run_dir / "kits"
        commands = _prepare(job, parts, run_dir, kits)
        if (run_dir / AGGREGATOR / OUTCOME_FILE).exists():  # the silos have done their part, and nobody would call them
            commands = {AGGREGATOR: commands[AGGREGATOR]}
        view = _View(run_dir, recorder, console)
        for party in commands:
            console.party(party, "starts as a process of its own")
        with Processes(commands, kits, view.hear) as processes:
            view.watch(processes, parties=len(commands))
        finished = from_state(run_dir / AGGREGATOR)
        shutil.rmtree(kits)  # keys of a consortium that has done its work
        return finished

    return run_and_report(job, out, console, federation, lambda _: SecureRandomness())


def _prepare(job: Job, parts: Mapping[str, LabelledImages], run_dir: Path, kits: Path) -> dict[str, list[str]]:
    """Kits, data and configs for everyone; the commands that start them. Keys that are there already are kept."""
    make_folder(kits, mode=0o700)
    port, policy = _free_port(), _policy(job)
    deployed = job.model_copy(update={"data": AtSilos()})
    write_atomically(kits / "job.yaml", to_yaml(deployed).encode())
    members = [{"name": name, "data": {"kind": "npz", "path": "data.npz"}} for name in parts]
    consortium = {
        "name": job.name,
        "aggregator": {"host": "localhost", "port": port, "listen": "127.0.0.1"},
        "job": "job.yaml",
        "valid_days": 30,  # an interrupted demo may wait a while
        "keys": "made_by_authority",  # one machine is everyone here; the report says what that means
        "policy": policy.model_dump(mode="json"),
        "silos": members,
    }
    write_atomically(kits / "consortium.yaml", yaml.safe_dump(consortium).encode())
    provision(kits / "consortium.yaml", kits)
    listening = AggregatorConfig(
        host="127.0.0.1", port=port, job=Path("job.yaml"), tls=_tls(AGGREGATOR), revoked=Path("revoked.pem"),
        state=run_dir.resolve() / AGGREGATOR,
    )  # fmt: skip
    write_atomically(kits / AGGREGATOR / "aggregator.yaml", to_yaml(listening).encode())
    commands = {AGGREGATOR: ["aggregator", "--config", str(kits / AGGREGATOR / "aggregator.yaml"), "--json"]}
    for name, part in parts.items():
        _write_data(kits / name / "data.npz", part)
        silo = SiloConfig(
            name=name, aggregator=Address(host="localhost", port=port), tls=_tls("silo"), policy=policy,
            identity=Path("identity.key"), roster=Path("roster.yaml"), state=run_dir.resolve() / "silos" / name,
            data=NpzFile(path=Path("data.npz"), classes=part.classes), classes=tuple(declared_labels(job, part)),
        )  # fmt: skip
        write_atomically(kits / name / "silo.yaml", to_yaml(silo).encode())
        commands[name] = ["silo", "--config", str(kits / name / "silo.yaml"), "--json"]
    return commands


def _policy(job: Job) -> Policy:
    """Just what the demo's job asks for; a real silo writes its own."""
    privacy = job.privacy
    if not isinstance(privacy, UnitLevel) or not isinstance(job.schedule, TwoPhase):
        raise RunError("the demo shows a private job in two phases; run others with `siloseal run`")
    return Policy(
        largest_epsilon=privacy.epsilon,
        largest_delta=privacy.delta,
        fewest_silos=len(job.silos.names),
        secure_sums=(job.secure_sum.kind,),
        tuning_sums=(job.schedule.tuning_sum.kind,),
        privacy=(privacy.kind,),
        mechanisms=(job.noise.kind,),
        learners=(job.learner.kind,),
        largest_model=10_000_000,
    )


def _write_data(path: Path, part: LabelledImages) -> None:
    """All of it as training data: the held-out images stay with the experimenter."""
    images, labels = quantise(part.images), part.labels.numpy()
    with path.open("wb") as file:
        path.chmod(0o600)
        np.savez(file, train_images=images, train_labels=labels, test_images=images[:1], test_labels=labels[:1])


def _tls(stem: str) -> Tls:
    return Tls(certificate=Path(f"{stem}.crt"), key=Path(f"{stem}.key"), authority=Path("ca.crt"))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class _View:
    """Turns what the parties say into one picture; models are scored in the thread that watches."""

    def __init__(self, run_dir: Path, recorder: Recorder, console: Console) -> None:
        self._models = run_dir / AGGREGATOR / "models"
        self._recorder, self._console = recorder, console
        self._heard: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def hear(self, party: str, event: Event) -> None:
        """Called in the thread of each party."""
        match event:
            case {"event": "training", "phase": phase, "done": done, "steps": steps, **metrics}:
                numbers = {name: value for name, value in metrics.items() if name != "event"}
                self._recorder.training(party, TrainingProgress(phase, done, steps, numbers))
            case {"event": "fitting", "done": done, "steps": steps}:
                self._recorder.fitting(done - 1, steps)
            case {"event": "stage", "stage": stage}:
                self._recorder.stage(stage)
            case {"event": "model"}:
                self._heard.put(event)
            case {"event": "ended"}:
                self._console.party(party, "has done its part", over=True)
                self._heard.put(event)
            case {"event": "asks", "number": number, "what": what}:
                self._console.party(party, f"request {number}: {what}")
            case {"event": "answers", "number": number, "what": what, "reply_bytes": size}:
                self._console.party(party, f"answers request {number}: {what}, {size:,} bytes")
            case {"event": "waiting", "reason": reason}:
                self._console.party(party, str(reason))
            case {"event": "serves", "address": address}:
                self._console.party(party, f"listens at {address}")
            case {"event": "takes_part"}:
                self._console.party(party, "has looked at the job and takes part")

    def watch(self, processes: Processes, *, parties: int) -> None:
        """Until all have ended; an error as soon as one ends badly."""
        while parties:
            match self._heard.get():
                case {"event": "model", "stage": stage}:
                    self._recorder.released(stage, read_model(self._models / f"{stage}.safetensors"))
                case {"event": "ended"}:
                    parties -= 1
                    processes.require_well()
