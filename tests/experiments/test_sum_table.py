"""All parties at one table run the real protocols, round by round."""

import numpy as np
import pytest

from siloseal.experiments.sum_table import Table
from siloseal.federation.errors import QuorumLost, WrongRound
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.secagg.secagg_sum import SecAggSum
from siloseal.federation.sums.session import IntegerDomain, RealDomain

VECTORS = {name: np.full(3, number, dtype=np.int64) for number, name in enumerate(("n", "e", "s", "w"), start=1)}
DOMAIN = IntegerDomain(3, 2**16)


def test_a_silo_that_leaves_before_it_uploads_is_not_in_the_sum_and_one_that_leaves_after_it_is() -> None:
    before = Table(SecAggSum(), VECTORS, DOMAIN, quorum=3).finish(leaving={"w": 3})
    after = Table(SecAggSum(), VECTORS, DOMAIN, quorum=3).finish(leaving={"w": 4})
    assert before.total.tolist() == [6, 6, 6]
    assert after.total.tolist() == [10, 10, 10]


def test_everyone_must_stay_unless_a_quorum_says_otherwise() -> None:
    with pytest.raises(QuorumLost):
        Table(SecAggSum(), VECTORS, DOMAIN).finish(leaving={"w": 1})


def test_bytes_are_counted_and_nobody_is_asked_after_the_end() -> None:
    table = Table(PlainSum(), {"n": np.ones(3), "e": np.ones(3)}, RealDomain(3, 1.0))
    assert table.finish().total.tolist() == [2.0, 2.0, 2.0]
    assert table.round == 1
    assert table.sent["n"] == len(table.replies["n"]) > 0
    assert table.received["n"] > 0
    with pytest.raises(WrongRound):
        _ = table.messages
