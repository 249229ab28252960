"""Attacks as cells of a comparison."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from siloseal.experiments.comparison.measurements.attacks import AuditMeasurement, InversionMeasurement


def test_an_audit_says_at_which_delta_and_how_sure_it_is(tmp_path: Path) -> None:
    measurement = AuditMeasurement(kind="audit", epsilon=1.0, trials=40, flaw="noise_off", confidence=0.9)
    rows = {row.measure: row.value for row in measurement.run(tmp_path)}
    assert rows.keys() == {"lower_bound", "gaussian_lower_bound", "epsilon", "delta", "trials", "confidence"}
    assert rows["lower_bound"] > rows["epsilon"]
    assert (rows["delta"], rows["trials"], rows["confidence"]) == (1e-5, 40, 0.9)


def test_a_sampled_training_has_no_gaussian_bound(tmp_path: Path) -> None:
    measurement = AuditMeasurement(kind="audit", epsilon=4.0, trials=40, sampling_rate=0.5, steps=1)
    assert "gaussian_lower_bound" not in {row.measure for row in measurement.run(tmp_path)}


def test_an_odd_number_of_trials_is_refused() -> None:
    with pytest.raises(ValidationError, match="trials"):
        AuditMeasurement(kind="audit", epsilon=1.0, trials=41)


def test_an_upload_that_cannot_be_read_is_refused() -> None:
    """A reading that finds nothing in any case would look like a protection."""
    protection = {"kind": "upload", "secure_sum": {"kind": "paillier"}}
    with pytest.raises(ValidationError, match="paillier"):
        InversionMeasurement.model_validate({"kind": "inversion", "protection": protection})
