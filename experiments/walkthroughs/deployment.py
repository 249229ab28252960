"""A consortium in a temporary folder: real processes over mutual TLS, and nothing left when it closes."""

import atexit
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, TypeVar

import yaml

from siloseal.experiments.walkthroughs.small_jobs import CONFIGS
from siloseal.federation.config.loading import to_yaml
from siloseal.federation.errors import RunError
from siloseal.federation.job.job import Job
from siloseal.federation.run_events.stream import PartySaid
from siloseal.provisioning.addresses import free_port
from siloseal.runs.processes import Processes

PATIENCE_SECONDS = 120.0
E = TypeVar("E")


class CellResult(Protocol):
    """The result of a cell that IPython has run."""

    @property
    def success(self) -> bool:
        """Whether the cell raised nothing."""


class Deployment:
    """The parties of configs/consortium.yaml on this machine, at a port of their own.

    `close` ends every process and removes the folder, keys included. It happens by itself when Python ends, and, for
    whoever registers `close_if_failed` with IPython, when a cell fails. If Python is killed, its children go with it,
    but the folder stays.
    """

    def __init__(self, job: Job) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="siloseal-hospitals-")
        self.folder = Path(self._temporary.name)
        self.kits = self.folder / "kits"
        self.consortium = self.folder / "consortium.yaml"
        self.names = job.silos.names
        self.events: list[PartySaid] = []
        self._changed = threading.Condition()
        self._processes: list[Processes] = []
        self._running = ExitStack()
        atexit.register(self.close)
        (self.folder / "job.yaml").write_text(to_yaml(job))
        sections = yaml.safe_load((CONFIGS / "consortium.yaml").read_text())
        place = {"host": "localhost", "port": free_port(), "listen": "127.0.0.1"}
        here = {"aggregator": place, "job": "job.yaml", "keys": "made_by_authority"}  # one machine is everyone
        self.consortium.write_text(yaml.safe_dump({**sections, **here}))

    def start(self, *parties: str) -> None:
        """Start a process for each party, as `siloseal aggregator` and `siloseal silo` do."""
        words = {party: "aggregator" if party == "aggregator" else "silo" for party in parties}
        commands = {
            party: [role, "--config", str(self.kits / party / f"{role}.yaml"), "--json"]
            for party, role in words.items()
        }
        self._processes.append(self._running.enter_context(Processes(commands, self.folder, self._hear)))

    def wait_for(self, party: str, kind: type[E], **facts: Any) -> E:
        """Return a party's event of this kind, once published; `RunError` if the party ends badly or takes too long."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        with self._changed:
            while not (found := self.said(party, kind, **facts)):
                for processes in self._processes:  # first: a process that is gone wakes nobody
                    processes.require_well()
                if not self._changed.wait(max(0.0, deadline - time.monotonic())):
                    words = f"{party} has published no {kind.__name__} within {PATIENCE_SECONDS:g} s; is it started?"
                    raise RunError(words)
        return found[0]

    def said(self, party: str, kind: type[E], **facts: Any) -> list[E]:
        """Return all events of this kind, with these fields, that a party has published."""
        events = [said.event for said in list(self.events) if said.party == party]
        found = [event for event in events if isinstance(event, kind)]
        return [event for event in found if all(getattr(event, name) == value for name, value in facts.items())]

    def stop(self) -> None:
        """End the processes that still run. What counts is on the disk."""
        self._running.close()
        self._processes = []

    def close(self) -> None:
        """End everyone and remove everything."""
        self.stop()
        self._temporary.cleanup()
        atexit.unregister(self.close)

    def close_if_failed(self, result: CellResult) -> None:
        """Close after a failed cell, as IPython's `post_run_cell`: a walkthrough that stops leaves nobody behind."""
        if not result.success:
            self.close()

    def _hear(self, said: PartySaid) -> None:
        """Keep an event; called in the thread of each party."""
        with self._changed:
            self.events.append(said)
            self._changed.notify_all()
