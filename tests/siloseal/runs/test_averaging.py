"""Averages among scripts of one process: what the aggregator was sent, and what it kept."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from siloseal.federation.averages.config import AverageJob
from siloseal.federation.job.weighting import weigh
from siloseal.federation.run_events.aggregator import AverageOpened
from siloseal.federation.run_events.stream import RunEvent
from siloseal.runs.averaging import simulate_scripts
from siloseal.runs.averaging_session import AveragingSession

NAMES = ("north", "east", "south")
WEIGHT = 500


def job(kind: str) -> AverageJob:
    sections = {"name": "a", "silos": {"names": NAMES}, "secure_sum": {"kind": kind}, "averages": 9}
    return AverageJob.model_validate(sections)


def network_of(silo: str) -> nn.Module:
    """A network of the silo's own, also where scripts build theirs at once: torch's own generator is one for all."""
    network, own = nn.Linear(20, 30), torch.Generator().manual_seed(NAMES.index(silo))
    for part in network.parameters():
        nn.init.normal_(part, generator=own)
    return network


def script(session: AveragingSession) -> None:
    session.average(network_of(session.silo), weight=WEIGHT, exclude=())


def received(folder: Path) -> bytes:
    """Everything that the silos sent, which is what the aggregator journals."""
    with sqlite3.connect(folder / "aggregator" / "journal.sqlite") as journal:
        return b"".join(reply for (reply,) in journal.execute("SELECT reply FROM replies"))


def float_bytes(silo: str) -> list[bytes]:
    """A module's values as they might be sent: as they are or weighted, in single or double precision, few at a time."""
    module = network_of(silo)
    values = np.concatenate([p.detach().numpy().ravel().astype(np.float64) for p in module.parameters()])
    weighted = weigh(values, weight=WEIGHT, largest=100_000)
    rows = [row.astype(kind) for row in (values, weighted) for kind in ("<f4", "<f8")]
    return [row[start : start + 3].tobytes() for row in rows for start in range(0, len(row) - 3, 3)]


@pytest.mark.parametrize("kind", ["ckks", "secagg", "additive"])
def test_no_value_of_a_module_is_in_what_the_aggregator_receives(tmp_path: Path, kind: str) -> None:
    simulate_scripts(script, job(kind), tmp_path)
    sent = received(tmp_path)
    assert len(sent) > 3 * 620
    assert not [silo for silo in NAMES for part in float_bytes(silo) if part in sent]


def test_the_check_finds_values_that_are_sent_in_clear(tmp_path: Path) -> None:
    simulate_scripts(script, job("plain"), tmp_path)
    sent = received(tmp_path)
    assert all(any(part in sent for part in float_bytes(silo)) for silo in NAMES)


def test_whoever_looks_on_hears_of_each_average(tmp_path: Path) -> None:
    heard = list[RunEvent]()

    def twice(session: AveragingSession) -> None:
        script(session)
        script(session)

    simulate_scripts(twice, job("plain"), tmp_path, heard.append)
    opened = [event for event in heard if isinstance(event, AverageOpened)]
    assert [event.number for event in opened] == [1, 2]
    assert all(set(event.contributors) == set(NAMES) for event in opened)
