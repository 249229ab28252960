"""The record that moves a query's counts farthest moves them as far as the noise is made for."""

from dataclasses import replace

import numpy as np
import pytest

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.noisy_bits import NoisyBits
from siloseal.federation.privacy.mechanisms.counts import NoisyCounts
from siloseal.privacy_audit.query_releases import query_subjects
from siloseal.privacy_audit.releases import audit_release

QUERIES = (
    {"kind": "histogram", "column": "city", "values": ["a", "b"]},
    {"kind": "mean", "column": "age", "low": 0, "high": 90, "steps": 16},
    {"kind": "quantiles", "column": "age", "low": 0, "high": 90, "depth": 3},
    {"kind": "heavy_hitters", "column": "city", "alphabet": "abc", "letters": 2},
    {"kind": "distinct", "column": "city", "cells": 64},
)


def job(records: int = 1, *, epsilon: float = 40) -> AnalyticsJob:
    person = {} if records == 1 else {"person": {"column": "name", "records": records}}
    return AnalyticsJob.model_validate(
        {
            "name": "questions",
            "data": {"kind": "csv", "folder": "nowhere"},
            "silos": {"names": ["north", "east", "south"]},
            "privacy": {"epsilon": epsilon, "delta": 1e-5, **person},
            "secure_sum": {"kind": "secagg"},
            "largest_silo": 100,
            "queries": QUERIES,
        }
    )


@pytest.mark.parametrize("records", [1, 3])
def test_no_record_moves_counts_farther_than_is_booked_and_some_move_them_as_far(records: int) -> None:
    for name, subject in query_subjects(job(records)):
        moved = float(np.linalg.norm(subject.move))
        match subject.mechanism:
            case NoisyCounts(move=booked):
                assert moved <= booked.l2 * (1 + 1e-9), name
                assert moved > 0.8 * booked.l2, name
            case NoisyBits(cells=cells):
                assert moved**2 == pytest.approx(cells)
                assert cells == records
            case other:
                pytest.fail(f"{name} has an unknown mechanism, {other}")


def test_every_query_of_a_job_passes_its_audit() -> None:
    found = [audit_release(subject, part=name, trials=150) for name, subject in query_subjects(job())]
    assert [finding.verdict for finding in found] == ["sound"] * len(QUERIES)
    assert found[3].booked_epsilon > found[0].booked_epsilon  # two releases against one


def test_a_query_with_less_noise_than_it_books_is_found() -> None:
    """The noise is that of epsilon 40, and the events are those of epsilon 4: half the noise or less, by its size."""
    booked = dict(query_subjects(job(epsilon=4)))
    for name, quiet in query_subjects(job()):
        if isinstance(quiet.mechanism, NoisyCounts):
            flawed = replace(booked[name], mechanism=quiet.mechanism)
            assert audit_release(flawed, part=name, trials=400).verdict == "broken"
