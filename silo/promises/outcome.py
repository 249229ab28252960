"""What a trial of one promise can come to."""

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["kept", "broken", "not tried"]


@dataclass(frozen=True)
class NotTried:
    """A promise that cannot be tried on this learner as it stands: nothing was found, and nothing is known."""

    why: str
