"""Attacks as cells of a comparison."""

from pathlib import Path
from typing import get_args

import pytest
from pydantic import ValidationError

from siloseal.experiments.attacks import flaws
from siloseal.experiments.comparison.measurements.attacks import (
    CONFIDENCE,
    AuditMeasurement,
    Flaw,
    InversionMeasurement,
)
from siloseal.privacy_audit import guesses


def test_an_audit_says_its_verdict_and_what_the_guesses_prove(tmp_path: Path) -> None:
    """Half the noise is found by its measured size with certainty."""
    measurement = AuditMeasurement(kind="audit", epsilon=1.0, steps=50, flaw="half_noise")
    rows = {row.measure: row.value for row in measurement.run(tmp_path)}
    expected = {"lower_bound", "epsilon", "delta", "p_value", "p_value_of_guesses", "broken", "steps", "confidence"}
    assert rows.keys() == expected
    assert (rows["broken"], rows["delta"], rows["steps"]) == (1.0, 1e-5, 50)
    assert 0.99 < rows["epsilon"] <= 1.0


def test_the_flaws_of_a_config_are_those_that_can_be_planted() -> None:
    assert get_args(Flaw) == get_args(flaws.Flaw)
    assert CONFIDENCE == guesses.CONFIDENCE


def test_an_upload_that_cannot_be_read_is_refused() -> None:
    """A reading that finds nothing in any case would look like a protection."""
    protection = {"kind": "upload", "secure_sum": {"kind": "paillier"}}
    with pytest.raises(ValidationError, match="paillier"):
        InversionMeasurement.model_validate({"kind": "inversion", "protection": protection})
