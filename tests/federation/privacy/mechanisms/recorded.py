"""Recorded values, and the Renyi orders that they were computed with."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from siloseal.federation.privacy import accounting, event_curves
from siloseal.federation.privacy.mechanisms import calibration, lattice_calibration, pbm_calibration

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "mechanisms.json").read_text())


Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    found = [row for row in VECTORS if row["name"] == name]
    assert found, name
    return found


@contextmanager
def recorded_orders() -> Iterator[None]:
    """Count with the orders 2 .. 128 and 256; what was counted with others is forgotten before and after."""
    _forget()
    with patch.object(event_curves, "ORDERS", (*range(2, 129), 256)):
        yield
    _forget()


def _forget() -> None:
    event_curves.curve_of.cache_clear()
    accounting._counted.cache_clear()
    calibration._renyi_gaussian_multiplier.cache_clear()
    lattice_calibration._calibrated.cache_clear()
    pbm_calibration._theta_by_norm.cache_clear()
    pbm_calibration._of_kashin.cache_clear()
