"""An average as a message, and what a silo refuses of one that may be hostile."""

from collections.abc import Callable

import numpy as np
import pytest

from siloseal.federation.averages.config import AverageJob
from siloseal.federation.averages.mean import Mean
from siloseal.federation.errors import ProtocolError
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import to_array

JOB = AverageJob.model_validate(
    {
        "name": "a",
        "silos": {"names": ["w", "x", "y", "z"], "fewest": 3},
        "secure_sum": {"kind": "ckks"},
        "averages": 5,
    }
)


def mean() -> pb.Mean:
    return Mean(3, np.array([0.5, -64.0], dtype=np.float32), ("w", "x", "z"), 1e-5).to_wire()


def test_an_average_comes_back_as_it_was() -> None:
    found = Mean.from_wire(JOB, mean())
    assert (found.round, found.values.tolist(), found.contributors) == (3, [0.5, -64.0], ("w", "x", "z"))
    assert found.error_bound == 1e-5


def test_a_value_at_the_bound_that_single_precision_rounds_up_is_taken() -> None:
    job = JOB.model_copy(update={"largest_weight": 1.1})
    wire = Mean(0, np.array([1.1], dtype=np.float32), ("w", "x", "z"), 0.0).to_wire()
    assert float(Mean.from_wire(job, wire).values[0]) > 1.1
    wire.values.CopyFrom(to_array(np.nextafter(np.array([1.1], dtype=np.float32), np.float32(2.0))))
    with pytest.raises(ProtocolError):
        Mean.from_wire(job, wire)


@pytest.mark.parametrize(
    "change",
    [
        lambda wire: wire.ClearField("values"),
        lambda wire: wire.values.CopyFrom(to_array(np.array([0.5, 65.0], dtype=np.float32))),
        lambda wire: wire.values.CopyFrom(to_array(np.array([0.5, np.nan], dtype=np.float32))),
        lambda wire: wire.values.CopyFrom(to_array(np.array([0.5, 1.0]))),
        lambda wire: wire.values.shape.append(1),
        lambda wire: setattr(wire.values, "data", b"1234"),
        lambda wire: setattr(wire, "error_bound", float("nan")),
        lambda wire: setattr(wire, "error_bound", float("inf")),
        lambda wire: setattr(wire, "error_bound", -1.0),
        lambda wire: wire.contributors.pop(),
        lambda wire: wire.contributors.append("x"),
        lambda wire: wire.contributors.append("stranger"),
    ],
)
def test_an_average_that_the_job_cannot_have_is_refused(change: Callable[[pb.Mean], object]) -> None:
    wire = mean()
    change(wire)
    with pytest.raises(ProtocolError):
        Mean.from_wire(JOB, wire)
