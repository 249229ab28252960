"""One silo's privacy ledger, over both phases, on disk.

A charge is on the disk before the release that it pays for. So a crash between the two counts a release that never
happened, and never misses one that did. The file is JSON lines: a header with the silo's name and budget, then one
line a charge, each with a hash over all lines up to it, so that an altered or missing line is noticed. (Whoever can
compute hashes can forge the file: the ledger guards a silo against accidents, and not against itself.) A torn last
line is a charge that never returned, hence a release that never happened: it is cut off.
"""

import copy
import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from federation.accounting import Accountant, Event, GaussianRelease, SampledGaussianSteps, epsilon_of, epsilon_text
from federation.config.job import ExampleLevel, NoPrivacy
from federation.errors import BudgetExceeded, LedgerDamaged, UncountableEvent
from federation.storage import sync_folder

UNIT = "one example"
RELATION = "add/remove"

_EVENTS: dict[str, Callable[..., Event]] = {
    "gaussian_release": GaussianRelease,
    "sampled_gaussian_steps": SampledGaussianSteps,
}
_NAMES: dict[type[Event], str] = {GaussianRelease: "gaussian_release", SampledGaussianSteps: "sampled_gaussian_steps"}


@dataclass(frozen=True)
class Budget:
    """The most that a silo's examples may be exposed by everything this ledger sees."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Charge:
    """One line of the ledger."""

    phase: str
    event: Event


class Ledger:
    """Charge before the release. Opened once at a time: a second opening of the same file is refused."""

    def __init__(self, path: Path, *, silo: str, budget: Budget) -> None:
        self.budget = budget
        self._silo = silo
        numbers = {name: float(value) for name, value in asdict(budget).items()}  # 10 and 10.0 are the same budget
        self._header = {"silo": silo, **numbers, "unit": UNIT, "relation": RELATION}
        self._chain = hashlib.sha256(json.dumps(self._header).encode()).hexdigest()
        self._file = path.open("a+b", buffering=0)
        try:
            path.chmod(0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.charges = self._read(path)
        except BlockingIOError:
            self._file.close()
            raise LedgerDamaged(f"{path} is in use by another process; a silo runs once at a time") from None
        except BaseException:
            self._file.close()
            raise
        self._accountant = Accountant()
        for charge in self.charges:
            self._accountant.add(charge.event)

    @property
    def epsilon(self) -> float:
        """What has been spent, at the budget's delta."""
        return self._accountant.epsilon(self.budget.delta)

    def epsilon_of_phase(self, phase: str) -> float:
        """What one phase alone would cost. Phases do not add up: composition is cheaper than a sum of epsilons."""
        return epsilon_of([charge.event for charge in self.charges if charge.phase == phase], self.budget.delta)

    def charge(self, event: Event, *, phase: str) -> None:
        """Record what is about to be released, or raise `BudgetExceeded` and record nothing."""
        trial = copy.deepcopy(self._accountant)
        trial.add(event)
        epsilon = trial.epsilon(self.budget.delta)
        if not epsilon <= self.budget.epsilon:  # NaN must not pass
            raise BudgetExceeded(
                f"{self._silo} has spent epsilon {self.epsilon:.3f} of {self.budget.epsilon:g}, and {phase} asks for "
                f"{event}, which would make {epsilon:.3f}; the silo stops here. Raise epsilon, or plan fewer steps"
            )
        fields = {"phase": phase, "event": _NAMES[type(event)], **asdict(event)}
        chain = _link(self._chain, fields)
        self._append({**fields, "chain": chain})
        self._chain = chain
        self.charges.append(Charge(phase, event))
        self._accountant = trial

    def statement(self) -> str:
        """The guarantee, in one line that a person can quote."""
        return (
            f"{self._silo}: ({epsilon_text(self.epsilon)}, {self.budget.delta:g})-differential privacy for {UNIT} "
            f"({RELATION}) over all phases; Gaussian noise, added inside the silo, which trusts nobody else; Renyi "
            "accounting; the number of examples and the set of classes count as public."
        )

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _append(self, line: dict[str, Any]) -> None:
        content = json.dumps(line).encode() + b"\n"
        before = os.fstat(self._file.fileno()).st_size
        try:
            if self._file.write(content) != len(content):
                raise OSError(errno.ENOSPC, "the disk took only a part of the charge")
            os.fsync(self._file.fileno())
        except OSError:
            # Half a line would swallow the next charge, so it must not stay.
            os.ftruncate(self._file.fileno(), before)
            raise

    def _read(self, path: Path) -> list[Charge]:
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            self._file.truncate(whole)
        lines = content[:whole].splitlines()
        if not lines:
            self._append(self._header)
            sync_folder(path.parent)
            return []
        if (header := _parse(path, 1, lines[0])) != self._header:
            raise LedgerDamaged(
                f"{path} is the ledger of {header}, but this silo is {self._header}; use the job that began it, "
                "or a new run folder"
            )
        return [self._charge(path, number, line) for number, line in enumerate(lines[1:], start=2)]

    def _charge(self, path: Path, number: int, line: bytes) -> Charge:
        fields = _parse(path, number, line)
        found, self._chain = fields.pop("chain", None), _link(self._chain, fields)
        if found != self._chain:
            raise LedgerDamaged(
                f"{path}, line {number}: does not follow from the lines before it; one of them was altered or removed: "
                "restore the file from a backup"
            )
        return _to_charge(path, number, fields)


def _parse(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise LedgerDamaged(f"{path}, line {number}: not a JSON object; the file was altered, restore it from a backup")
    return fields


def _link(chain: str, fields: dict[str, Any]) -> str:
    return hashlib.sha256((chain + json.dumps(fields)).encode()).hexdigest()


def _to_charge(path: Path, number: int, fields: dict[str, Any]) -> Charge:
    try:
        phase, kind = str(fields.pop("phase")), _EVENTS[fields.pop("event")]
        event = kind(**{name: _number(value) for name, value in fields.items()})
    except (KeyError, TypeError, UncountableEvent) as error:
        raise LedgerDamaged(
            f"{path}, line {number}: not a charge ({error}); the file was altered, restore it from a backup"
        ) from error
    return Charge(phase, event)


def _number(value: object) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"found {value!r} for a number")
    return value  # type: ignore[return-value]  # int or float, and steps must stay an int


def open_ledger(privacy: ExampleLevel | NoPrivacy, silo: str, folder: Path, *, worked_before: bool) -> Ledger | None:
    """The ledger of a silo in one run; none where privacy is off. A silo that has worked must have one already."""
    if not isinstance(privacy, ExampleLevel):
        return None
    path = folder / "ledger.jsonl"
    if worked_before and not path.exists():
        raise LedgerDamaged(
            f"{path} is gone, but the silo has worked in this run: what it spent is not known; restore the file from a "
            "backup, or begin another run"
        )
    return Ledger(path, silo=silo, budget=Budget(privacy.epsilon, privacy.delta))
