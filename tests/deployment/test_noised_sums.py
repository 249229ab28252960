"""Silo-level privacy between processes: split noise, a silo that is killed in a sum, and one that trusts no aggregator."""

import json
from collections.abc import Callable
from functools import partial

import numpy as np

from siloseal.federation.job.planning import plan_silo
from siloseal.models.building import vector_lengths

from .conftest import EXAMPLES, NAMES, SHORT, Consortium
from .parties import Event

SECAGG = {"kind": "secagg"}
SILO_LEVEL = {"kind": "silo_level", "epsilon": 4, "delta": 1e-5, "clip_norm": 0.5}


def answers_request(number: int, event: Event) -> bool:
    return event["event"] == "answers" and event["number"] == number


def test_a_silo_that_is_killed_in_a_noised_sum_goes_on_and_pays_once(
    consortium_of: Callable[..., Consortium],
) -> None:
    consortium = consortium_of(
        privacy=SILO_LEVEL,
        mechanism={"kind": "skellam", "bits": 16, "clipping": {"kind": "quantile"}},
        secure_sum=SECAGG,
        schedule={**SHORT, "local_steps": 5, "tuning_sum": SECAGG},
    )
    north = consortium.silos["north"]
    north.impatient = True
    # It has paid when it answers the first message of a sum: of phase 1, and of the tuning round, which costs the same
    # event. Its reply has not left by then.
    first = [train + 1 for train in (4, 10)]
    killed = north.restart_at(*(partial(answers_request, number) for number in first))
    consortium.start()
    north.wait_for("leaves")
    model = consortium.finish()
    assert [(event["number"], event["what"]) for event in killed] == [(number, "sum") for number in first]
    assert np.isfinite(model).all()
    job = consortium.job
    plan = plan_silo(job, "north", EXAMPLES["north"], vector_lengths(job, (1, 8, 8), 10))
    for name in NAMES:
        lines = (consortium.run_folder(name) / "ledger.jsonl").read_text().splitlines()
        header, *charges = (json.loads(line) for line in lines)
        assert header["unit"] == "one silo's whole contribution"
        assert [charge["phase"] for charge in charges] == ["phase_1", "phase_2"] == list(plan.events())
        assert {charge["event"] for charge in charges} == {"skellam_release"}


def test_a_silo_that_trusts_no_aggregator_refuses_its_noise(consortium_of: Callable[..., Consortium]) -> None:
    consortium = consortium_of(
        privacy=SILO_LEVEL, mechanism={"kind": "gaussian_central"}, schedule={**SHORT, "local_steps": 5}
    )
    consortium.silos["north"].start()
    assert consortium.aggregator.start().wait() == 1
    words = consortium.aggregator.wait_for("error")["words"]
    assert "mechanism.kind is gaussian_central, but policy.mechanisms " in words
