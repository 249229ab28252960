"""The parties of a deployment as child processes of this one, and what they say as they go."""

import ctypes
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from siloseal.federation.errors import RunError
from siloseal.federation.run_events.experimenter import ProcessEnded
from siloseal.federation.run_events.lines import decode
from siloseal.federation.run_events.stream import PartySaid

OnEvent = Callable[[PartySaid], None]


class Processes:
    """Processes, one a party; `on_event` hears each event, in the thread that reads that party's lines."""

    def __init__(self, commands: Mapping[str, list[str]], log_folder: Path, on_event: OnEvent) -> None:
        self._commands, self._logs, self._on_event = commands, log_folder, on_event
        self._running = dict[str, subprocess.Popen[str]]()
        self._readers = list[threading.Thread]()

    def __enter__(self) -> Self:
        for party, command in self._commands.items():
            with (self._logs / f"{party}.log").open("w") as log:
                self._running[party] = subprocess.Popen(  # noqa: S603 (our own command line)
                    [sys.executable, "-m", "siloseal", *command],
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    preexec_fn=die_with_parent,
                )
            self._readers.append(threading.Thread(target=self._read, args=(party,), daemon=True))
            self._readers[-1].start()
        return self

    def require_well(self) -> None:
        """Raise `RunError` with the last words of whoever ended badly."""
        for party, process in self._running.items():
            if process.poll() not in (None, 0):
                words = (self._logs / f"{party}.log").read_text().strip() or f"it ended with code {process.returncode}"
                raise RunError(f"{party}: {words}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop whoever still runs: what counts is on the disk."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            process.wait()
        for reader in self._readers:
            reader.join()

    def _read(self, party: str) -> None:
        process = self._running[party]
        assert process.stdout is not None  # noqa: S101 (a pipe was asked for)
        try:
            with process.stdout as lines:
                for line in lines:
                    if (event := decode(line)) is not None:
                        self._on_event(PartySaid(party, event))
        finally:  # whatever happens in here, somebody waits for this
            process.wait()
            self._on_event(PartySaid(party, ProcessEnded(process.returncode)))


_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Die with the parent, so that nobody is left to hold its files. It is called in the child before it begins."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
