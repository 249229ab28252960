"""What a sum between parties in one process cost each of them: bytes and time, exchange by exchange."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from siloseal.federation.sums.secure_sum import Sum


class Exchange(NamedTuple):
    """One silo's part in one round; round 0 is the preparation of its vector, before any message."""

    round: int
    silo: str
    received_bytes: int
    sent_bytes: int
    seconds: float
    """Time that the silo computed: of the processor, unless another clock was given."""


@dataclass(frozen=True)
class InProcessSum(Sum):
    """A sum, and what it cost each party.

    >>> result = siloseal.sum_in_process(siloseal.secure_sum("secagg"), {"north": [0.5], "east": [0.25]})
    >>> result.contributors, result.rounds, sorted(result.sent)
    (('east', 'north'), 5, ['east', 'north'])
    """

    exchanges: tuple[Exchange, ...]
    aggregator_seconds: float

    @property
    def rounds(self) -> int:
        """Number of rounds that the sum took."""
        return max(exchange.round for exchange in self.exchanges)

    @property
    def sent(self) -> dict[str, int]:
        """Bytes that each silo sent in all rounds."""
        return {silo: sum(exchange.sent_bytes for exchange in self._of(silo)) for silo in self._silos}

    @property
    def received(self) -> dict[str, int]:
        """Bytes that each silo received in all rounds."""
        return {silo: sum(exchange.received_bytes for exchange in self._of(silo)) for silo in self._silos}

    @property
    def seconds(self) -> dict[str, float]:
        """Time that each silo computed, its preparation included."""
        return {silo: sum(exchange.seconds for exchange in self._of(silo)) for silo in self._silos}

    @property
    def _silos(self) -> list[str]:
        return [exchange.silo for exchange in self.exchanges if exchange.round == 0]

    def _of(self, silo: str) -> Iterable[Exchange]:
        return (exchange for exchange in self.exchanges if exchange.silo == silo)
