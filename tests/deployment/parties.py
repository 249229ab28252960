"""Aggregators and silos as real processes, with what they say as events that a test waits for.

Processes are forked from a server that has imported everything, so that a restart takes a fraction of a second. They
can be killed like any other. Silos draw from seeded randomness, which no config can select.
"""

import json
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TextIO

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.deployment.preloaded"])
PATIENCE_SECONDS = 120.0

Event = dict[str, Any]


class _Paced:
    """Standard output on which a process waits, after every line, until the test lets it go on."""

    def __init__(self, out: TextIO, go_on: Connection) -> None:
        self._out, self._go_on = out, go_on

    def write(self, text: str) -> int:
        self._out.write(text)
        if text.endswith("\n"):
            self._out.flush()
            with suppress(EOFError):
                self._go_on.recv_bytes()
        return len(text)

    def flush(self) -> None:
        self._out.flush()


def _main(
    role: str, config: Path, seed: int, out: Connection, go_on: Connection | None, *, impatient: bool, talkative: bool
) -> None:
    """In the child: what `siloseal ROLE --config FILE --json` does, with standard output into the test's hands."""
    from siloseal.cli.event_lines import EventLines
    from siloseal.federation.errors import SiloSealError
    from siloseal.federation.randomness import SeededRandomness
    from siloseal.federation.transport import backoff
    from siloseal.runs.deployment import run_aggregator, run_silo
    from siloseal.silo import deployed

    if impatient:
        backoff.FIRST_SECONDS = backoff.LONGEST_SECONDS = 0.2
        deployed.FAREWELL_SECONDS = 1.0
    if talkative:
        deployed.IN_TOUCH_SECONDS = 0.05
    os.dup2(out.fileno(), 1)
    sys.stdout = os.fdopen(1, "w", buffering=1)
    if go_on is not None:
        sys.stdout = _Paced(sys.stdout, go_on)  # type: ignore[assignment]
    with (config.parent / "stderr.txt").open("a") as errors:
        os.dup2(errors.fileno(), 2)
    show = EventLines(json_lines=True, quiet=True).show
    try:
        if role == "aggregator":
            run_aggregator(config, show)
        else:
            run_silo(config, show, randomness=SeededRandomness(seed))
    except SiloSealError as error:
        print(json.dumps({"event": "error", "type": type(error).__name__, "words": str(error)}))
        os._exit(1)
    os._exit(0)


class Party:
    """One process after the other, all with the same config: what `systemd` would keep alive."""

    def __init__(self, role: str, config: Path, seed: int = 0) -> None:
        self.role, self.config, self.seed = role, config, seed
        self.events: list[Event] = []
        self._changed = threading.Condition()
        self._process: Any = None
        self.on_event: Callable[[Event], None] = lambda _: None
        """Called in the thread that reads; the process goes on meanwhile, unless it is paced."""
        self.paced = False
        """Whether the process waits, whenever it says something, until `on_event` returns: it is disturbed just there."""
        self.talkative = False
        """Whether a silo at work calls the aggregator many times a second, and not only now and then."""
        self.impatient = False
        """Whether it dials again within a fifth of a second always, and says farewell within one, so that many kills take
        little time."""

    def start(self) -> "Party":
        ours, theirs = os.pipe()
        out = Connection(theirs)
        go_on, waits_for = CONTEXT.Pipe() if self.paced else (None, None)
        arguments = (self.role, self.config, self.seed, out, waits_for)
        options = {"impatient": self.impatient, "talkative": self.talkative}
        self._process = CONTEXT.Process(target=_main, args=arguments, kwargs=options, daemon=True)
        self._process.start()
        out.close()
        if waits_for is not None:
            waits_for.close()
        self._reader = threading.Thread(target=self._read, args=(ours, go_on), daemon=True)
        self._reader.start()
        return self

    def kill(self) -> None:
        """kill -9, and wait until it is dead and everything that it said is heard."""
        os.kill(self._process.pid, signal.SIGKILL)
        self.wait()

    def restart(self) -> None:
        self.kill()
        self.start()

    def restart_at(self, *moments: Callable[[Event], bool]) -> list[Event]:
        """Kill it, and start it again, at the first event that each moment fits, before it does anything more.

        The list that is returned fills with these events.
        """
        left, disturbed = list(moments), list[Event]()

        def on_event(event: Event) -> None:
            if moment := next((moment for moment in left if moment(event)), None):
                left.remove(moment)
                disturbed.append(event)
                self.restart()

        self.paced, self.on_event = True, on_event
        return disturbed

    def wait(self) -> int:
        """Its exit code."""
        self._process.join(PATIENCE_SECONDS)
        assert self._process.exitcode is not None, f"{self.config} still runs; it said {self.events[-3:]}"
        if threading.current_thread() is not self._reader:
            self._reader.join(PATIENCE_SECONDS)
        return int(self._process.exitcode)

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.is_alive()

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    def said(self, event: str, **facts: Any) -> list[Event]:
        """What it has said of this kind, with these facts."""
        return [e for e in list(self.events) if e["event"] == event and facts.items() <= e.items()]

    def wait_for(self, event: str, *, count: int = 1, **facts: Any) -> Event:
        """The `count`th event of this kind with these facts, as soon as it has been said."""
        with self._changed:
            heard = self._changed.wait_for(lambda: len(self.said(event, **facts)) >= count, PATIENCE_SECONDS)
        assert heard, f"{self.role} never said {event} {facts}; its last words: {self.events[-5:]}"
        return self.said(event, **facts)[count - 1]

    def _read(self, descriptor: int, go_on: Connection | None) -> None:
        with os.fdopen(descriptor, "r") as lines:
            for line in lines:
                if line.endswith("\n"):  # a kill may tear the last one
                    event = json.loads(line)
                    with self._changed:
                        self.events.append(event)
                        self._changed.notify_all()
                    self.on_event(event)
                    if go_on is not None:
                        with suppress(OSError):  # it was killed here
                            go_on.send_bytes(b".")
