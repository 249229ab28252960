"""Real processes, real sockets, real TLS: a job from the first dial to the last receipt."""

from collections.abc import Callable

import numpy as np

from siloseal.status import ask_status

from .conftest import KERNEL_MEAN, NAMES, Consortium
from .evidence import audit_lines
from .parties import Event

ConsortiumOf = Callable[..., Consortium]


def test_a_run_ends_with_a_model_and_every_party_well(consortium_of: ConsortiumOf) -> None:
    consortium = consortium_of(warm_start=KERNEL_MEAN, secure_sum={"kind": "ckks"}).start()
    model = consortium.finish()
    assert np.isfinite(model).all()
    assert np.array_equal(model, consortium.model("models/round_1.safetensors"))
    for name in NAMES:
        assert (consortium.run_folder(name) / "global.safetensors").exists()


def test_the_status_knows_the_round_and_what_every_silo_has_spent_as_soon_as_it_is_told(
    consortium_of: ConsortiumOf,
) -> None:
    """After the sum of the kernel means, whose epsilon the job says, and with each reply to a training."""
    consortium = consortium_of(warm_start=KERNEL_MEAN)
    told = list[tuple[str, int, list[float]]]()

    def on_event(event: Event) -> None:
        if event["event"] == "asks" and event["what"] in ("train", "finish"):
            status = ask_status(consortium.kits / "operator" / "operator.yaml")
            told.append((event["what"], status.round, [silo.epsilon_spent for silo in status.silos]))

    consortium.aggregator.paced, consortium.aggregator.on_event = True, on_event
    consortium.start().finish()
    assert [(what, number) for what, number, _ in told] == [("train", 0), ("train", 1), ("finish", 1)]
    first, second, last = (epsilons for *_, epsilons in told)
    assert first == [KERNEL_MEAN["epsilon"]] * 3
    assert all(before < after <= 10 for before, after in zip(first, second, strict=True))
    ledgers = [audit_lines(consortium, name, "answers")[-1]["epsilon"] for name in NAMES]
    assert all(exact <= shown <= exact + 0.5 for exact, shown in zip(ledgers, last, strict=True)), "rounded up"
    spent = audit_lines(consortium, "aggregator", "spent")
    assert len(spent) == 3 * 3, "once each: the warm start, phase 1, the round"
