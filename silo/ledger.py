"""One silo's privacy ledger, over both phases, on disk.

A charge is on the disk before the release that it pays for. So a crash between the two counts a release that never
happened, and never misses one that did. The file is JSON lines: a header with the silo's name and budget, then one
line a charge, each with a hash over all lines up to it, so that an altered or missing line is noticed. (Whoever can
compute hashes can forge the file: the ledger guards a silo against accidents, and not against itself.) A torn last
line is a charge that never returned, hence a release that never happened: it is cut off.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.guarantee import guarantee_in
from siloseal.federation.errors import BudgetExceeded, LedgerDamaged, RunError, UncountableEvent
from siloseal.federation.job.guarantee import EXAMPLE_AT_SILO
from siloseal.federation.job.sections.privacy import NoPrivacy, TaskLevel
from siloseal.federation.privacy.accounting import Accountant, Counted, counted
from siloseal.federation.privacy.events import (
    BinomialRelease,
    DiscreteGaussianRelease,
    Event,
    GaussianRelease,
    NoisyBitsRelease,
    PoissonBinomialL2Release,
    PoissonBinomialRelease,
    RandomBitsRelease,
    SampledGaussianSteps,
    SkellamRelease,
)
from siloseal.federation.privacy.guarantee import ZERO_OUT, Guarantee
from siloseal.federation.records.chained_file import ChainedFile, End, link, parse_line, read_line, whole_lines
from siloseal.federation.records.storage import Survives
from siloseal.silo.allowance import Allowance

LEDGER_FILE = "ledger.jsonl"
"""Name of the ledger's file in a silo's folder of a run."""

_EVENTS: dict[str, Callable[..., Event]] = {
    "gaussian_release": GaussianRelease,
    "sampled_gaussian_steps": SampledGaussianSteps,
    "discrete_gaussian_release": DiscreteGaussianRelease,
    "skellam_release": SkellamRelease,
    "binomial_release": BinomialRelease,
    "poisson_binomial_release": PoissonBinomialRelease,
    "poisson_binomial_l2_release": PoissonBinomialL2Release,
    "noisy_bits_release": NoisyBitsRelease,
    "random_bits_release": RandomBitsRelease,  # earlier versions charged it
}
_NAMES: dict[object, str] = {kind: name for name, kind in _EVENTS.items()}


@dataclass(frozen=True)
class Budget:
    """The most that a silo's examples may be exposed by everything this ledger sees.

    >>> siloseal.read_ledger("runs/first", "north").budget
    Budget(epsilon=10.0, delta=1e-05)
    """

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Charge:
    """One line of the ledger.

    >>> charge = siloseal.read_ledger("runs/first", "north").charges[0]
    >>> charge.phase, charge.event.steps
    ('phase_1', 3)
    """

    phase: str
    event: Event


class Ledger:
    """A ledger that is charged before each release. A second opening of the same file is refused."""

    def __init__(
        self,
        path: Path,
        *,
        silo: str,
        budget: Budget,
        guarantee: Guarantee = EXAMPLE_AT_SILO,
        survives: Survives = Survives.POWER_CUT,
        allowance: Allowance | None = None,
    ) -> None:
        """`allowance` is what the silo's policy leaves to this run beside others; a simulated silo has no policy."""
        self.budget, self.guarantee, self.allowance = budget, guarantee, allowance
        self.silo = silo
        numbers = {name: float(value) for name, value in asdict(budget).items()}  # 10 and 10.0 are the same budget
        self._header = {"silo": silo, **numbers, "unit": guarantee.unit, "relation": guarantee.relation}
        in_use = LedgerDamaged(f"{path} is in use by another process; a silo runs once at a time")
        self._file = ChainedFile(path, start=link("", self._header), in_use=in_use, survives=survives)
        try:
            self.charges = self._read(path)
        except BaseException:
            self._file.close()
            raise
        self._charged: Counter[Event] = Counter(charge.event for charge in self.charges)
        self._accountant = Accountant(self._charged.elements())

    @property
    def counted(self) -> Counted:
        """Epsilon spent so far, at the budget's delta, by the tightest count."""
        return self._accountant.counted(self.budget.delta)

    @property
    def epsilon(self) -> float:
        """Epsilon spent so far, at the budget's delta."""
        return self.counted.epsilon

    @property
    def stated_epsilon(self) -> float:
        """Epsilon that a guarantee may state: what was charged, or planned where the data decide what is charged."""
        return self.guarantee.stated(self.epsilon) if self.charges else 0.0

    def spent_roughly(self) -> float:
        """Epsilon spent so far, by Renyi accounting, rounded up to a twentieth of the budget, which it never exceeds.

        That is what others may know: the exact number tells the sampling rate, and with it how many examples there are.
        """
        renyi = self._accountant.renyi_epsilon(self.budget.delta)
        twentieths = math.ceil(20 * min(1.0, renyi / self.budget.epsilon))
        return twentieths / 20 * self.budget.epsilon

    def counted_of_phase(self, phase: str) -> Counted:
        """Epsilon that one phase alone would cost. Composition is cheaper than a sum of the phases' epsilons."""
        return counted([charge.event for charge in self.charges if charge.phase == phase], self.budget.delta)

    def charge(self, event: Event, *, phase: str) -> None:
        """Record what is about to be released, or raise `BudgetExceeded` and record nothing.

        Renyi accounting is asked first, because it is cheap; the tightest count decides where that would refuse.
        """
        trial, most, delta = self._accountant.plus(event), self.budget.epsilon, self.budget.delta
        # NaN must not pass
        if not trial.renyi_epsilon(delta) <= most and not (epsilon := trial.epsilon(delta)) <= most:
            raise BudgetExceeded(
                f"{self.silo} has spent epsilon {self.epsilon:.3f} of {self.budget.epsilon:g}, and {phase} asks for "
                f"{event}, which would make {epsilon:.3f}; the silo stops here. Raise epsilon, or plan fewer steps"
            )
        if self.allowance is not None:
            self.allowance.require(self.silo, self._charged + Counter((event,)))
        self._file.append({"phase": phase, "event": _NAMES[type(event)], **asdict(event)})
        self.charges.append(Charge(phase, event))
        self._charged[event] += 1
        self._accountant = trial

    def statement(self) -> str:
        """The guarantee, in one line that a person can quote."""
        stated = self.guarantee.statement(self.epsilon, self.budget.delta, accounting=self.counted.accountant)
        return f"{self.silo}: {stated}"

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _read(self, path: Path) -> list[Charge]:
        lines = list(whole_lines(path))
        if not lines:
            self._file.resume(self._file.end)
            self._file.begin(self._header)
            return []
        header = parse_line(lines[0], where=f"{path}, line 1", damaged=LedgerDamaged)
        if not self._began(header):
            raise LedgerDamaged(
                f"{path} is the ledger of {header}, but this silo is {self._header}; use the job that began it, "
                "or a new run folder"
            )
        if has_redrawn_tasks(self.guarantee.unit, header["relation"]):
            raise RunError(
                f"{path} was begun by an earlier version, which formed tasks in another way: going on would form them "
                "anew in the middle of the run, and its budget would not hold; begin another run"
            )
        charges, end = list[Charge](), End(1, len(lines[0]), link("", header))
        for content in lines[1:]:
            charge, end = read_charge(path, end, content)
            charges.append(charge)
        self._file.resume(end)
        return charges

    def _began(self, header: dict[str, Any]) -> bool:
        """Whether this silo's ledger begins so, also where an earlier version began it."""
        named = {**header, "relation": self.guarantee.relation}
        return named == self._header and self.guarantee.goes_by(header.get("relation"))


def has_redrawn_tasks(unit: str, relation: object) -> bool:
    """Whether a ledger is of a version whose tasks followed from all images together: one image could redraw them all.

    The relation's name tells it: it got its present one with tasks that each image joins by itself.
    """
    return unit == TaskLevel.unit and relation != ZERO_OUT


def read_charge(path: Path, end: End, content: bytes) -> tuple[Charge, End]:
    """Read the line behind `end`; `LedgerDamaged` where it does not follow from the lines before it."""
    where = f"{path}, line {end.lines + 1}"
    line = read_line(end.chain, content, where=where, damaged=LedgerDamaged)
    if not line.follows:
        raise LedgerDamaged(
            f"{where}: does not follow from the lines before it; one of them was altered or removed: restore the file "
            "from a backup"
        )
    return _to_charge(where, line.fields), end.after(content, line.chain)


def _to_charge(where: str, fields: dict[str, Any]) -> Charge:
    try:
        phase, kind = str(fields.pop("phase")), _EVENTS[fields.pop("event")]
        event = kind(**{name: _number(value) for name, value in fields.items()})
    except (KeyError, TypeError, UncountableEvent) as error:
        raise LedgerDamaged(
            f"{where}: not a charge ({error}); the file was altered, restore it from a backup"
        ) from error
    return Charge(phase, event)


def _number(value: object) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"found {value!r} for a number")
    return value  # type: ignore[return-value]  # int or float, and steps must stay an int


def open_ledger(
    job: AnyJob,
    silo: str,
    folder: Path,
    *,
    worked_before: bool,
    survives: Survives = Survives.POWER_CUT,
    allowance: Allowance | None = None,
) -> Ledger | None:
    """The ledger of a silo in one run; none where privacy is off. A silo that has worked must have one already."""
    if isinstance(job.privacy, NoPrivacy):
        return None
    path = folder / LEDGER_FILE
    if worked_before and not path.exists():
        raise LedgerDamaged(
            f"{path} is gone, but the silo has worked in this run: what it spent is not known; restore the file from a "
            "backup, or begin another run"
        )
    budget = Budget(job.privacy.epsilon, job.privacy.delta)
    return Ledger(path, silo=silo, budget=budget, guarantee=guarantee_in(job), survives=survives, allowance=allowance)
