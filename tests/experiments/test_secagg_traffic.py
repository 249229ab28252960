"""What SecAgg sends, by the paper's formula and as counted on the messages of a real run."""

import json
from pathlib import Path

import numpy as np
import pytest

from siloseal.experiments.secagg_traffic import expansion, traffic_bits
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.secagg.config import SecAggConfig
from siloseal.federation.sums.session import RealDomain

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "masked_sums.json").read_text())
ROWS = [row for row in VECTORS if row["name"] == "secagg.expansion_factor"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['inputs']['n']}x{row['inputs']['m']}")
def test_the_formula_gives_the_recorded_factors(row: dict) -> None:  # type: ignore[type-arg]
    given = row["inputs"]
    found = expansion(silos=given["n"], entries=given["m"], entry_bits=given["input_bits"])
    assert found == pytest.approx(row["expected"], rel=1e-12)


def test_the_formula_gives_the_papers_two_factors() -> None:
    assert expansion(silos=2**10, entries=2**20, entry_bits=16) == 1.734375
    assert expansion(silos=2**14, entries=2**24, entry_bits=16) == pytest.approx(1.984432, abs=5e-7)


@pytest.mark.slow
def test_a_hundred_silos_send_what_the_formula_says_within_a_twentieth() -> None:
    """Entries of 16 bits; each silo's messages, both ways, as they are on the wire."""
    silos, entries = 100, 300_000
    scheme = SecAggConfig(kind="secagg", precision_bits=15).build()
    vector = np.linspace(-1, 1, entries)
    vectors = dict.fromkeys((f"silo-{number:03d}" for number in range(silos)), vector)
    result = sum_in_process(scheme, vectors, domain=RealDomain(entries, 1.0))
    assert np.abs(result.total - silos * vector).max() <= result.error_bound
    counted = {name: result.sent[name] + result.received[name] for name in vectors}
    expected = traffic_bits(silos=silos, entries=entries, entry_bits=16) / 8
    assert max(abs(found / expected - 1) for found in counted.values()) < 0.05
    assert min(counted.values()) > expected, "it counts no signatures, seals or framing"
