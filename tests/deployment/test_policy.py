"""A job that asks for more than a silo's policy allows: who says what, and what comes after."""

from collections.abc import Callable

import yaml

from siloseal.federation.config.loading import to_yaml

from .conftest import ONE_STEP, POLICY, PRIVACY, Consortium
from .evidence import audit_lines


def test_the_aggregator_ends_with_the_silos_words_and_the_silo_takes_part_in_a_new_run_of_a_job_that_it_allows(
    consortium_of: Callable[..., Consortium],
) -> None:
    consortium = consortium_of(schedule=ONE_STEP)
    consortium.edit("north", policy={**POLICY, "largest_epsilon": 5, "largest_delta": 1e-6})
    north = consortium.silos["north"]
    north.impatient = True
    north.start()
    assert consortium.aggregator.start().wait() == 1
    words = (
        "north's policy does not allow the job small: privacy.epsilon is 10, but policy.largest_epsilon is 5, and "
        "privacy.delta is 1e-5, but policy.largest_delta is 1e-6; change the job, or the policy in north's silo.yaml"
    )
    error = consortium.aggregator.wait_for("error")
    assert (error["type"], error["words"]) == ("SiloRefused", f"north refused: {words}")
    assert north.wait_for("refuses")["words"] == f"PolicyRefused: {words}"
    assert north.alive
    assert [line["silo"] for line in audit_lines(consortium, "aggregator", "refused")] == ["north"]
    assert not north.said("takes_part")
    assert not (consortium.state("north") / "runs").exists()

    changed = yaml.safe_load(to_yaml(consortium.job))
    changed["privacy"] = {**PRIVACY, "epsilon": 5, "delta": 1e-6}
    (consortium.kits / "aggregator" / "job.yaml").write_text(yaml.safe_dump(changed))
    consortium.edit("aggregator", state="second_state")
    for party in (consortium.aggregator, consortium.silos["east"], consortium.silos["south"]):
        party.start()
    assert [party.wait() for party in consortium.parties] == [0, 0, 0, 0]
    assert len(north.said("takes_part")) == 1
    assert any("policy.largest_epsilon is 5" in line["reason"] for line in north.said("waiting")), "while it waits"
    assert (consortium.run_folder("north") / "global.safetensors").exists()
