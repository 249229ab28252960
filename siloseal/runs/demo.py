"""The demo: a job among real processes on this machine, over mutual TLS on loopback, with everything in one view.

This process provisions a consortium, deals the data, starts the parties, listens to what they say and scores every
model that the aggregator releases. It takes no part in the job.
"""

import queue
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import yaml

from siloseal.aggregator.config import AggregatorConfig
from siloseal.federation.config.loading import to_yaml
from siloseal.federation.errors import RunError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.data import AtSilos, NpzFile
from siloseal.federation.job.sections.privacy import UnitLevel
from siloseal.federation.job.sections.schedule import TwoPhase
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.storage import make_folder, write_atomically
from siloseal.federation.run_events.aggregator import ModelKept
from siloseal.federation.run_events.experimenter import ProcessEnded, ProcessStarted
from siloseal.federation.run_events.stream import PartySaid, Subscriber, unheard
from siloseal.federation.transport.config import Tls
from siloseal.models.model_files import read_model
from siloseal.models.user_code.pinning import code_folder, pinned
from siloseal.provisioning.addresses import free_port
from siloseal.provisioning.kits import provision
from siloseal.run_folder.images import quantise
from siloseal.run_folder.summary import RunSummary
from siloseal.runs.processes import Processes
from siloseal.runs.recorder import Recorder
from siloseal.runs.result import RunResult, from_state
from siloseal.runs.run import run_and_report
from siloseal.runs.simulation import declared_labels
from siloseal.silo.config import Address, Policy, SiloConfig
from siloseal.silo.data.examples import Examples

AGGREGATOR = "aggregator"


def run_demo(job: Job, out: Path | None, show: Subscriber = unheard) -> RunSummary:
    """Run, or go on with, the demo in its folder."""

    def federation(
        job: Job, parts: Mapping[str, Examples], run_dir: Path, recorder: Recorder, publish: Subscriber
    ) -> RunResult:
        kits = run_dir / "kits"
        commands = _prepare(job, parts, run_dir, kits)
        if (run_dir / AGGREGATOR / "summary.json").exists():  # the silos have done their part: nobody would call them
            commands = {AGGREGATOR: commands[AGGREGATOR]}
        view = _View(job, run_dir, recorder, publish)
        for party in commands:
            publish(PartySaid(party, ProcessStarted()))
        with Processes(commands, kits, view.hear) as processes:
            view.watch(processes, parties=len(commands))
        finished = from_state(run_dir / AGGREGATOR, code=job.learner.target_of_code)
        shutil.rmtree(kits)  # keys of a consortium that has done its work
        return finished

    return run_and_report(job, out, show, federation, lambda _: SecureRandomness())


def _prepare(job: Job, parts: Mapping[str, Examples], run_dir: Path, kits: Path) -> dict[str, list[str]]:
    """Kits, data and configs for everyone; the commands that start them. Keys that are there already are kept."""
    make_folder(kits, mode=0o700)
    deployed = job.model_copy(update={"data": AtSilos(), "learner": pinned(job.learner)})
    port, policy, code = free_port(), _policy(deployed), code_folder(job.learner)
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
        state=run_dir.resolve() / AGGREGATOR, code=code,
    )  # fmt: skip
    write_atomically(kits / AGGREGATOR / "aggregator.yaml", to_yaml(listening).encode())
    commands = {AGGREGATOR: ["aggregator", "--config", str(kits / AGGREGATOR / "aggregator.yaml"), "--json"]}
    for name, part in parts.items():
        _write_data(kits / name / "data.npz", part)
        silo = SiloConfig(
            name=name, aggregator=Address(host="localhost", port=port), tls=_tls("silo"), policy=policy,
            identity=Path("identity.key"), roster=Path("roster.yaml"), state=run_dir.resolve() / "silos" / name,
            data=NpzFile(path=Path("data.npz"), classes=part.classes), classes=tuple(declared_labels(job, part)),
            code=code,
        )  # fmt: skip
        write_atomically(kits / name / "silo.yaml", to_yaml(silo).encode())
        commands[name] = ["silo", "--config", str(kits / name / "silo.yaml"), "--json"]
    return commands


def _policy(job: Job) -> Policy:
    """A policy that allows just what the demo's job asks for; a real silo writes its own."""
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
        learners=(job.learner.policy_entry,),
        largest_model=10_000_000,
    )


def _write_data(path: Path, part: Examples) -> None:
    """Write all of it as training data: the held-out images stay with the experimenter."""
    images, labels = quantise(part.inputs), part.labels.numpy()
    with path.open("wb") as file:
        path.chmod(0o600)
        np.savez(file, train_images=images, train_labels=labels, test_images=images[:1], test_labels=labels[:1])


def _tls(stem: str) -> Tls:
    return Tls(certificate=Path(f"{stem}.crt"), key=Path(f"{stem}.key"), authority=Path("ca.crt"))


class _View:
    """A view that passes on what the parties publish; models are scored in the thread that watches."""

    def __init__(self, job: Job, run_dir: Path, recorder: Recorder, publish: Subscriber) -> None:
        self._models, self._code = run_dir / AGGREGATOR / "models", job.learner.target_of_code
        self._recorder, self._publish = recorder, publish
        self._heard: queue.SimpleQueue[ModelKept | ProcessEnded] = queue.SimpleQueue()

    def hear(self, said: PartySaid) -> None:
        """Take an event. It is called in the thread of each party."""
        self._publish(said)
        if isinstance(said.event, ModelKept | ProcessEnded):
            self._heard.put(said.event)

    def watch(self, processes: Processes, *, parties: int) -> None:
        """Watch until all have ended; an error as soon as one ends badly."""
        while parties:
            match self._heard.get():
                case ModelKept(stage=stage):
                    stored = read_model(self._models / f"{stage}.safetensors", code=self._code)
                    self._recorder.released(stage, stored.network)
                case ProcessEnded():
                    parties -= 1
                    processes.require_well()
