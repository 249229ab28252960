"""The ledger: charged before the release, on disk, never under-counted, never over budget."""

import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from siloseal.federation.errors import BudgetExceeded, LedgerDamaged
from siloseal.federation.privacy.accounting import Accounting, counted, epsilon_of, renyi_epsilon_of
from siloseal.federation.privacy.events import (
    GaussianRelease,
    NoisyBitsRelease,
    RandomBitsRelease,
    SampledGaussianSteps,
)
from siloseal.federation.records.chained_file import link
from siloseal.silo.ledger import Budget, Ledger
from siloseal.silo.ledger_reading import read_ledger

BUDGET = Budget(epsilon=3.0, delta=1e-5)
STEPS = SampledGaussianSteps(sampling_rate=0.05, noise_multiplier=1.5, steps=20)


def opened(folder: Path, budget: Budget = BUDGET, silo: str = "north") -> Ledger:
    return Ledger(folder / "ledger.jsonl", silo=silo, budget=budget)


def test_what_was_charged_is_there_after_reopening(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.charge(GaussianRelease(3.0), phase="warm_start")
        ledger.charge(STEPS, phase="phase_1")
        spent = ledger.epsilon
    with opened(tmp_path) as again:
        assert again.epsilon == spent == pytest.approx(epsilon_of([GaussianRelease(3.0), STEPS], 1e-5))
        assert [charge.phase for charge in again.charges] == ["warm_start", "phase_1"]
        assert again.counted_of_phase("phase_1") == counted([STEPS], 1e-5)


def test_a_charge_over_budget_is_refused_and_not_written(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.charge(STEPS, phase="phase_1")
        before = (tmp_path / "ledger.jsonl").read_bytes()
        with pytest.raises(BudgetExceeded, match=r"^north .* of 3, .*phase_2 .*GaussianRelease"):
            ledger.charge(GaussianRelease(0.5), phase="phase_2")
        assert (tmp_path / "ledger.jsonl").read_bytes() == before
        ledger.charge(SampledGaussianSteps(0.05, 1.5, 1), phase="phase_2")


def test_both_phases_draw_on_one_budget(tmp_path: Path) -> None:
    """Neither phase alone would exceed it."""
    with opened(tmp_path) as ledger:
        ledger.charge(GaussianRelease(1.6), phase="phase_1")
        with pytest.raises(BudgetExceeded):
            ledger.charge(GaussianRelease(1.6), phase="phase_2")
    assert epsilon_of([GaussianRelease(1.6)], 1e-5) < BUDGET.epsilon


def test_what_only_a_tighter_count_than_renyi_allows_is_granted_to_the_last_step_and_no_further(tmp_path: Path) -> None:
    steps = SampledGaussianSteps(0.05, 1.5, 10)
    budget = Budget(epsilon_of([steps] * 6, 1e-5), 1e-5)
    assert renyi_epsilon_of([steps] * 5, 1e-5) > budget.epsilon
    with opened(tmp_path, budget) as ledger:
        for _ in range(6):
            ledger.charge(steps, phase="phase_1")
        assert ledger.counted.accountant is Accounting.LOSSES
        assert "privacy loss distributions" in ledger.statement()
    with opened(tmp_path, budget) as again:
        assert again.epsilon == ledger.epsilon == budget.epsilon
        assert again.spent_roughly() == budget.epsilon
        with pytest.raises(BudgetExceeded):
            again.charge(SampledGaussianSteps(0.05, 1.5, 1), phase="phase_2")
    read = read_ledger(tmp_path / "ledger.jsonl")
    assert (read.epsilon, read.accountant) == (ledger.epsilon, Accounting.LOSSES)
    assert read.epsilon_by_phase == {"phase_1": budget.epsilon}


def test_what_is_said_of_the_spending_is_never_below_it_and_is_cheap_to_say(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        for _ in range(8):
            ledger.charge(STEPS, phase="phase_1")
            assert ledger.epsilon <= ledger.spent_roughly() <= ledger.budget.epsilon


def test_one_release_is_counted_exactly(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.charge(GaussianRelease(3.0), phase="warm_start")
        assert ledger.counted.accountant is Accounting.GAUSSIAN
        assert "analytic Gaussian" in ledger.statement()


KILLED = """
import os, signal, sys
from pathlib import Path
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.silo.ledger import Budget, Ledger
ledger = Ledger(Path(sys.argv[1]), silo="north", budget=Budget(3.0, 1e-5))
ledger.charge(SampledGaussianSteps(0.05, 1.5, 20), phase="phase_1")
os.kill(os.getpid(), signal.SIGKILL)   # after the charge, before any release
"""


def test_a_kill_between_charge_and_release_leaves_the_charge(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "ledger.jsonl")], check=False)
    assert killed.returncode == -signal.SIGKILL
    with opened(tmp_path) as ledger:
        assert ledger.epsilon == pytest.approx(epsilon_of([STEPS], 1e-5))
        ledger.charge(STEPS, phase="phase_1")  # the silo trains those steps again, and pays again
        assert len(ledger.charges) == 2


def test_a_torn_last_line_is_a_charge_that_never_returned(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.charge(STEPS, phase="phase_1")
    file = tmp_path / "ledger.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"phase": "phase_1", "event": "sampled_gau')
    with opened(tmp_path) as again:
        assert len(again.charges) == 1
        again.charge(STEPS, phase="phase_1")
    assert len(file.read_bytes().splitlines()) == 3


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        '["a list"]',
        '{"phase": "phase_1"}',
        '{"phase": "phase_1", "event": "unknown", "noise_multiplier": 1.0}',
        '{"phase": "phase_1", "event": "gaussian_release", "noise_multiplier": "much"}',
        '{"phase": "phase_1", "event": "gaussian_release", "noise_multiplier": 1.0, "discount": 1}',
        '{"phase": "phase_1", "event": "gaussian_release", "noise_multiplier": NaN}',
        '{"phase": "phase_1", "event": "gaussian_release", "noise_multiplier": -1.0}',
        '{"phase": "phase_1", "event": "gaussian_release", "noise_multiplier": Infinity}',
        '{"phase": "p", "event": "sampled_gaussian_steps", "noise_multiplier": 1, "sampling_rate": 0.1, "steps": -5}',
        '{"phase": "p", "event": "skellam_release", "variance": 9.0, "l2": 1.0, "l1": 1.0, "sampling_rate": 0.5}',
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    with opened(tmp_path) as ledger:
        ledger.charge(STEPS, phase="phase_1")
    file = tmp_path / "ledger.jsonl"
    chain = json.loads(file.read_text().splitlines()[-1])["chain"]
    if line.startswith("{"):  # damaged by a hand that minds the chain
        fields = json.loads(line)
        line = json.dumps({**fields, "chain": hashlib.sha256((chain + json.dumps(fields)).encode()).hexdigest()})
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(LedgerDamaged, match="line 3"):
        opened(tmp_path)


@pytest.mark.parametrize("tamper", [lambda lines: lines[:1] + lines[2:], lambda lines: [lines[0], lines[2], lines[1]],
                                    lambda lines: [lines[0], lines[1].replace("1.5", "9.5"), lines[2]]],
                         ids=["removed", "reordered", "altered"])  # fmt: skip
def test_a_line_that_was_altered_removed_or_reordered_is_noticed(
    tmp_path: Path, tamper: Callable[[list[str]], list[str]]
) -> None:
    with opened(tmp_path) as ledger:
        ledger.charge(STEPS, phase="phase_1")
        ledger.charge(STEPS, phase="phase_2")
    file = tmp_path / "ledger.jsonl"
    file.write_text("\n".join(tamper(file.read_text().splitlines())) + "\n")
    with pytest.raises(LedgerDamaged, match=r"ledger\.jsonl, line \d"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("silo", "budget"), [("south", BUDGET), ("north", Budget(30.0, 1e-5)), ("north", Budget(3.0, 1e-3))]
)
def test_a_ledger_of_another_silo_or_budget_is_refused(tmp_path: Path, silo: str, budget: Budget) -> None:
    opened(tmp_path).close()
    with pytest.raises(
        LedgerDamaged, match=f"'silo': 'north', 'epsilon': 3.0, .*'silo': '{silo}', 'epsilon': {budget.epsilon}"
    ):
        opened(tmp_path, budget, silo)


def test_a_ledger_is_open_once_at_a_time(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(LedgerDamaged, match="in use"):
        opened(tmp_path)


@pytest.mark.parametrize("noise", [2.1875, 2.6, 4.8, 15.0])
def test_a_budget_that_is_spent_to_the_last_digit_is_reported_as_spent_and_not_more(
    tmp_path: Path, noise: float
) -> None:
    """An aggregator refuses figures above the budget, and 20 * epsilon / epsilon is above 20 for these."""
    budget = Budget(epsilon_of([GaussianRelease(noise)], 1e-5), 1e-5)
    with opened(tmp_path, budget) as ledger:
        ledger.charge(GaussianRelease(noise), phase="phase_1")
        assert ledger.spent_roughly() == ledger.epsilon == budget.epsilon


def test_only_the_silo_may_read_it(tmp_path: Path) -> None:
    opened(tmp_path).close()
    assert (tmp_path / "ledger.jsonl").stat().st_mode & 0o077 == 0


FULL = """
import resource, sys
from pathlib import Path
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.silo.ledger import Budget, Ledger
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path, steps = Path(sys.argv[1]), SampledGaussianSteps(0.05, 1.5, 20)
ledger = Ledger(path, silo="north", budget=Budget(3.0, 1e-5))
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 30, resource.RLIM_INFINITY))   # no room for a line
try:
    ledger.charge(steps, phase="phase_1")
except OSError:
    print("refused", ledger.epsilon, len(ledger.charges))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))     # room again
ledger.charge(steps, phase="phase_1")
"""


def test_without_room_on_the_disk_nothing_is_granted_and_nothing_is_torn(tmp_path: Path) -> None:
    """A real limit of the kernel: the write stops in the middle of the line, as on a full disk."""
    file = tmp_path / "ledger.jsonl"
    ran = subprocess.run([sys.executable, "-c", FULL, str(file)], check=True, capture_output=True, text=True)
    assert ran.stdout.split() == ["refused", "0.0", "0"]
    with opened(tmp_path) as ledger:
        assert [charge.event for charge in ledger.charges] == [STEPS]


def test_the_statement_can_be_quoted_on_its_own(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.charge(STEPS, phase="phase_1")
        statement = ledger.statement()
    for part in (
        "north",
        "(0.84,",
        "1e-5",
        "one example",
        "zero-out",
        "Gaussian",
        "trusts",
    ):
        assert part in statement
    assert "\n" not in statement


def test_the_file_is_json_lines_with_everything_an_auditor_needs(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.charge(STEPS, phase="phase_1")
    header, charge = (json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines())
    assert header == {"silo": "north", "epsilon": 3.0, "delta": 1e-5, "unit": "one example", "relation": "zero-out"}
    numbers = {"sampling_rate": 0.05, "noise_multiplier": 1.5, "steps": 20}
    assert len(charge.pop("chain")) == 64
    assert charge == {"phase": "phase_1", "event": "sampled_gaussian_steps", **numbers}


def test_bits_that_an_earlier_version_charged_are_still_counted(tmp_path: Path) -> None:
    opened(tmp_path).close()
    file = tmp_path / "ledger.jsonl"
    start = link("", json.loads(file.read_text()))
    fields = {"phase": "1. distinct values of age", "event": "random_bits_release", "noise_multiplier": 4.5}
    file.write_text(file.read_text() + json.dumps({**fields, "chain": link(start, fields)}) + "\n")
    with opened(tmp_path) as ledger:
        assert ledger.epsilon == pytest.approx(epsilon_of([RandomBitsRelease(4.5)], 1e-5))
        ledger.charge(NoisyBitsRelease(0.2, 1), phase="2. distinct values of sex")
    with opened(tmp_path) as again:
        assert [charge.event for charge in again.charges] == [RandomBitsRelease(4.5), NoisyBitsRelease(0.2, 1)]


def as_an_earlier_version_began_it(file: Path, relation: str) -> None:
    """Write the ledger again with this relation in its header, and with hashes that follow from it."""
    header, *charges = (json.loads(line) for line in file.read_text().splitlines())
    header["relation"] = relation
    lines, chain = [header], link("", header)
    for charge in charges:
        del charge["chain"]
        lines.append({**charge, "chain": (chain := link(chain, charge))})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("relation", ["add/remove", "there or zeros"])
def test_a_ledger_that_an_earlier_version_began_goes_on(tmp_path: Path, relation: str) -> None:
    with opened(tmp_path) as ledger:
        ledger.charge(STEPS, phase="phase_1")
    as_an_earlier_version_began_it(tmp_path / "ledger.jsonl", relation)
    with opened(tmp_path) as again:
        again.charge(STEPS, phase="phase_2")
    with opened(tmp_path) as once_more:
        assert [charge.phase for charge in once_more.charges] == ["phase_1", "phase_2"]


def test_a_ledger_of_another_relation_is_refused(tmp_path: Path) -> None:
    opened(tmp_path).close()
    as_an_earlier_version_began_it(tmp_path / "ledger.jsonl", "replace one")
    with pytest.raises(LedgerDamaged):
        opened(tmp_path)
