"""Flaws of a silo that an audit should find, planted from outside into the real trainer.

In all of them the ledger books what it believes. `half_noise` and `tenth_less_noise`: the noise is too small.
`clip_too_wide`: a unit's gradient may be 1.2 times as long as the noise is made for. `no_sampling`: every unit is in
every batch, whatever the sampling rate. `reused_noise`: each second step repeats the noise of the step before.
`float_noise`: noise in single precision, as large as it should be, is added to the sum in single precision.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, assert_never
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.errors import UncountableEvent
from siloseal.federation.privacy.events import Event, SampledGaussianSteps
from siloseal.federation.randomness import Randomness, SecureRandomness
from siloseal.privacy_audit.training import Subject
from siloseal.silo.training import trainer
from siloseal.silo.training.trainer import Chargeable, Privacy

Flaw = Literal["none", "half_noise", "tenth_less_noise", "clip_too_wide", "no_sampling", "reused_noise", "float_noise"]


@dataclass(frozen=True)
class FlawedSubject(Subject):
    """Training steps of a silo that has a flaw."""

    flaw: Flaw = "none"

    def privacy(self, ledger: Chargeable) -> Privacy:
        """The privacy settings that the flawed silo gives its trainer."""
        booked = self.booked.noise_multiplier
        match self.flaw:
            case "half_noise":
                return Privacy(self.clip_norm, booked / 2, _Deceived(ledger, booked))
            case "tenth_less_noise":
                return Privacy(self.clip_norm, 0.9 * booked, _Deceived(ledger, booked))
            case "clip_too_wide":
                return Privacy(1.2 * self.clip_norm, booked / 1.2, _Deceived(ledger, booked))
            case "none" | "no_sampling" | "reused_noise" | "float_noise":
                return super().privacy(ledger)
            case _:
                assert_never(self.flaw)


def flawed(subject: Subject, flaw: Flaw) -> FlawedSubject:
    """The same training steps at a silo with this flaw."""
    parts = {name: getattr(subject, name) for name in Subject.__dataclass_fields__}
    return FlawedSubject(**parts | {"randomness": _randomness(flaw)}, flaw=flaw)


@contextmanager
def planted(subject: FlawedSubject) -> Iterator[None]:
    """Plant what lies in the trainer's own code, for as long as the audit runs."""
    if subject.flaw != "float_noise":
        yield
        return
    with patch.object(trainer, "add_noise", lambda total, *, noise_std, **_: float_noise(total, noise_std)):
        yield


def float_noise(total: Tensor, noise_std: float) -> Tensor:
    """The sum plus normal noise, all in single precision."""
    noise = torch.from_numpy(SecureRandomness().normals(total.numel()))
    return total.add(noise, alpha=noise_std)


def _randomness(flaw: Flaw) -> Randomness:
    match flaw:
        case "no_sampling":
            return _EveryUnit()
        case "reused_noise":
            return ReusedKeys()
        case _:
            return SecureRandomness()


@dataclass(frozen=True)
class _Deceived:
    """A ledger that is charged for other noise than there is."""

    ledger: Chargeable
    noise_multiplier: float

    def charge(self, event: Event, *, phase: str) -> None:
        if not isinstance(event, SampledGaussianSteps):
            raise UncountableEvent(f"{event} is no training step, which is all that is audited here")
        self.ledger.charge(replace(event, noise_multiplier=self.noise_multiplier), phase=phase)


class _EveryUnit(SecureRandomness):
    """A broken generator: each unit's draw is below any sampling rate."""

    def uniforms(self, count: int) -> NDArray[np.float64]:
        return np.zeros(count)


class ReusedKeys(SecureRandomness):
    """A broken generator: so many steps have fresh keys, the next ones have theirs, and so on.

    A step begins with its sample.
    """

    def __init__(self, later: int = 1) -> None:
        self._later, self._steps, self._place = later, -1, 0
        self._kept = dict[tuple[int, int], bytes]()

    def uniforms(self, count: int) -> NDArray[np.float64]:
        self._steps, self._place = self._steps + 1, 0
        return super().uniforms(count)

    def _next_key(self) -> bytes:
        cycle, number = divmod(self._steps, self._later)
        place = (number, self._place)
        self._place += 1
        if cycle % 2 == 0:  # a fresh step
            self._kept[place] = super()._next_key()
        return self._kept[place]
