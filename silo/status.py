"""Where a silo is, for an operator's tools."""

from dataclasses import dataclass

from siloseal.federation.run_events.silo import ConnectionChanged, RequestAnswered, TrainingProgressed
from siloseal.federation.run_events.stream import RunEvent


@dataclass
class SiloStatus:
    """A subscriber that knows where a deployed silo stands."""

    connected: bool = False
    number: int = 0
    """Number of the last request that was answered."""
    steps_done: int = 0
    steps: int = 0
    """Number of steps of the training under way."""
    epsilon: float = 0.0

    def hear(self, event: RunEvent) -> None:
        """Follow the silo."""
        match event:
            case ConnectionChanged(connected):
                self.connected = connected
            case RequestAnswered(number=number, epsilon=epsilon):
                self.number, self.epsilon = number, epsilon or 0.0
            case TrainingProgressed(done=done, steps=steps):
                self.steps_done, self.steps = done, steps
