"""What carries requests to silos and replies back."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from siloseal.federation.errors import DomainError, SiloRefused

Accept = Callable[[str, bytes], None]
"""Takes one silo's reply; raises where it cannot be right, or where it ends the run (`SiloRefused`)."""


class Engine(Protocol):
    """One method, so that the same coordinator runs in one process or between hospitals."""

    def ask(
        self, requests: Mapping[str, bytes], *, deadline_seconds: float, fewest: int, largest: int, accept: Accept
    ) -> None:
        """Give each reply to `accept` as it comes, until all are there.

        Past the deadline `fewest` accepted replies are enough; with fewer there is nothing to go on with, so it waits.
        A reply of more than `largest` bytes cannot be right: an engine that reads from a network does not read it.
        """


class LocalEngine:
    """Silos in this process. Encoded bytes all the same, so that every run also exercises the codec.

    Silos answer in threads: torch releases the interpreter's lock inside its kernels. There is no deadline here,
    because a thread cannot be abandoned safely.
    """

    def __init__(self, silos: Mapping[str, Callable[[bytes], bytes]], *, workers: int) -> None:
        self._silos = silos
        self._workers = workers

    def ask(
        self, requests: Mapping[str, bytes], *, deadline_seconds: float, fewest: int, largest: int, accept: Accept
    ) -> None:
        """Every silo's reply. A silo's exception ends the run: in one process it is a bug or a refusal to be seen."""
        if strangers := set(requests) - set(self._silos):
            raise DomainError(f"requests for unknown silos {sorted(strangers)}; known are {sorted(self._silos)}")
        pool = ThreadPoolExecutor(self._workers)
        try:
            answers = {silo: pool.submit(self._silos[silo], request) for silo, request in requests.items()}
            refused = list[str]()
            for silo in requests:
                try:
                    accept(silo, answers.pop(silo).result())  # a reply that is accepted need not stay in memory
                except SiloRefused as error:
                    refused.append(str(error))
            if refused:
                raise SiloRefused("\n".join(refused))
        finally:
            # After an interruption or an error, nobody waits for the others' answers, and nobody else begins.
            pool.shutdown(wait=False, cancel_futures=True)
