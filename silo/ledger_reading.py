"""A silo's ledger, read by anybody who may see it: no lock is taken and nothing is written."""

from dataclasses import dataclass
from pathlib import Path

from siloseal.federation.errors import LedgerDamaged, RunError
from siloseal.federation.privacy.accounting import Counted, counted
from siloseal.federation.records.chained_file import End, link, parse_line, whole_lines
from siloseal.silo.ledger import Budget, Charge, read_charge


@dataclass(frozen=True)
class LedgerReading:
    """Everything that one silo has spent in one run, up to the moment of reading.

    >>> ledger = siloseal.read_ledger("runs/first", "north")
    >>> ledger.budget.epsilon, list(ledger.epsilon_by_phase), ledger.charges[0].phase
    (10.0, ['phase_1', 'phase_2'], 'phase_1')
    """

    silo: str
    budget: Budget
    unit: str
    """What the guarantee protects, such as one example."""
    relation: str
    """What neighbouring data sets differ in."""
    charges: tuple[Charge, ...]
    """Releases in the order in which they were charged, each with its phase and what happened."""

    @property
    def epsilon(self) -> float:
        """Epsilon of all charges together, at the budget's delta."""
        return self._counted.epsilon

    @property
    def accountant(self) -> str:
        """The accountant that `epsilon` comes from: the tightest that can count all charges."""
        return self._counted.accountant

    @property
    def _counted(self) -> Counted:
        return counted([charge.event for charge in self.charges], self.budget.delta)

    @property
    def epsilon_by_phase(self) -> dict[str, float]:
        """What each phase alone would cost. Their sum is above `epsilon`, because composition is cheaper than a sum."""
        phases = dict.fromkeys(charge.phase for charge in self.charges)
        events = {phase: [charge.event for charge in self.charges if charge.phase == phase] for phase in phases}
        return {phase: counted(found, self.budget.delta).epsilon for phase, found in events.items()}


def read_ledger(path: Path) -> LedgerReading:
    """Read a ledger's file and check its chain of hashes; `LedgerDamaged` where a line was altered or removed."""
    if not path.is_file():
        raise RunError(
            f"{path} is not there: no such silo, no such run, or a run without privacy; give the folder of a run and "
            "the name of one of its silos"
        )
    lines = list(whole_lines(path))
    if not lines:
        raise LedgerDamaged(f"{path} is empty, expected a first line with silo and budget; restore it from a backup")
    header = parse_line(lines[0], where=f"{path}, line 1", damaged=LedgerDamaged)
    charges, end = list[Charge](), End(1, len(lines[0]), link("", header))
    for content in lines[1:]:
        charge, end = read_charge(path, end, content)
        charges.append(charge)
    try:
        budget = Budget(float(header["epsilon"]), float(header["delta"]))
        return LedgerReading(header["silo"], budget, header["unit"], header["relation"], tuple(charges))
    except (KeyError, TypeError, ValueError) as error:
        raise LedgerDamaged(f"{path}, line 1: not a ledger's header ({error}); restore it from a backup") from error
