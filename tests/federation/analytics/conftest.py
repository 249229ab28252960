"""Queries answered without any network: silos' noised counts are added as a sum would add them."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from siloseal.federation.analytics.query import Answer, Column, NoisyTotal, Progress, Query
from siloseal.federation.analytics.shared_noise import SharedNoise
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import Session

KEY = bytes(range(32))
RECORDS = 1_000_000


def exact(query: Query, columns: Sequence[Column]) -> Answer:
    """What the query says when nobody adds noise."""
    progress = Progress(key=KEY)
    while not query.finished(progress):
        total = np.sum([query.count(column, progress) for column in columns], axis=0)
        progress = progress.after(NoisyTotal(total.astype(float), 0.0))
    return query.answer(progress)


def noised(query: Query, columns: Sequence[Column], noise: SharedNoise, seed: int) -> Answer:
    """What the query says under the silos' noise."""
    progress, mechanism = Progress(key=KEY), query.mechanism(noise)
    roster = tuple(f"silo{number}" for number in range(len(columns)))
    sources = [SeededRandomness(1000 * seed + number) for number in range(len(columns))]
    while not query.finished(progress):
        domain = query.domain(progress, RECORDS)
        session = Session(bytes(32), roster, domain, mechanism.name, len(roster), (bytes(32),) * len(roster))
        modulus = mechanism.domain(domain, len(roster)).modulus
        parts = [
            mechanism.encode(domain.check(query.count(column, progress)), session, source)
            for column, source in zip(columns, sources, strict=True)
        ]
        total = mechanism.decode(Sum(np.sum(parts, axis=0) % modulus, roster, 0.0), session, sources[0])
        progress = progress.after(NoisyTotal(total.total, mechanism.spread(len(roster))))
    return query.answer(progress)


@pytest.fixture(scope="session")
def answer_exactly() -> Callable[[Query, Sequence[Column]], Answer]:
    return exact


@pytest.fixture(scope="session")
def answer_noisily() -> Callable[[Query, Sequence[Column], SharedNoise, int], Answer]:
    return noised
