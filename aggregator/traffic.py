"""Bytes that went each way in a run, by stage and silo."""

from collections import Counter
from dataclasses import dataclass

from siloseal.federation.run_events.coordination import BytesCounted, RunBegan
from siloseal.federation.run_events.stream import RunEvent


@dataclass(frozen=True)
class Counted:
    """Bytes of one silo in one stage, as the silo counts them."""

    stage: str
    silo: str
    sent_bytes: int
    received_bytes: int


class Traffic:
    """A subscriber that adds up. A run that is played again from its journal is counted anew."""

    def __init__(self) -> None:
        self._sent, self._received = Counter[tuple[str, str]](), Counter[tuple[str, str]]()

    def hear(self, event: RunEvent) -> None:
        """Count the bytes of one request and its reply."""
        match event:
            case RunBegan():
                self._sent, self._received = Counter(), Counter()
            case BytesCounted(stage, silo, sent, received):
                self._sent[stage, silo] += sent
                self._received[stage, silo] += received

    def counted(self) -> list[Counted]:
        """The bytes by stage and silo, in the order in which they first answered. Any thread may ask."""
        return [
            Counted(stage, silo, self._sent[stage, silo], received)
            for (stage, silo), received in self._received.copy().items()
        ]
