"""Real processes, real sockets, real TLS: a job from the first dial to the last receipt."""

from collections.abc import Callable, Iterator
from typing import get_args

import numpy as np
import pytest

from siloseal.federation.job.phases import Phase
from siloseal.federation.job.releases import Lengths, release_of
from siloseal.federation.job.sections.data import Digits
from siloseal.federation.job.sections.warm_start import KernelMeanStart
from siloseal.federation.job.weighting import weigh, weighted_domain
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.config import SumKind
from siloseal.federation.sums.fixed_point import FixedPoint
from siloseal.federation.sums.masked.words import ring_for
from siloseal.federation.sums.session import RealDomain, Session
from siloseal.models.building import feature_map
from siloseal.runs.status import ask_status
from siloseal.silo.data.loading import load

from .conftest import EXAMPLES, KERNEL_MEAN, NAMES, SHORT, Consortium
from .evidence import Truth, audit_lines
from .parties import Event

ConsortiumOf = Callable[..., Consortium]
KERNEL_MEAN_REQUEST = 4
"""After enrolment and beginning."""
PRECISION_BITS = 28


def watched(consortium: Consortium) -> Truth:
    """Every silo's model as it is when a training ends, by round."""
    truth = Truth(consortium)

    def watch(name: str) -> None:
        party = consortium.silos[name]

        def on_event(event: Event) -> None:
            if event["event"] == "answers" and event["what"] == "train":
                truth.look(name, len(party.said("answers", what="train")) - 1)

        party.paced, party.on_event = True, on_event

    for name in NAMES:
        watch(name)
    return truth


def contributions(consortium: Consortium, truth: Truth, silo: str) -> Iterator[tuple[np.ndarray, RealDomain]]:
    """What the silo put into the sums of its run: its kernel mean with the noise that its seed gives, its models."""
    job, data = consortium.job, load(Digits(limit=EXAMPLES[silo]))[0]
    assert isinstance(job.warm_start, KernelMeanStart)
    features = feature_map(job, job.warm_start, data.shape, data.classes)
    release = release_of(job, Lengths(features.length, 1), Phase.WARM_START, 0)
    mechanism, domain = release.mechanism, release.domain
    assert mechanism is not None
    randomness = SeededRandomness(consortium.silos[silo].seed)
    randomness.begin(f"contribution of request {KERNEL_MEAN_REQUEST}")
    session = Session(bytes(32), NAMES, domain, mechanism.name, len(NAMES), (bytes(32),) * len(NAMES))
    noised = mechanism.encode(features.labelled_sum(data.inputs, data.labels).numpy(), session, randomness)
    yield noised, mechanism.domain(domain, len(NAMES))
    for models in truth.models:
        model = models[silo]
        yield (
            weigh(model, weight=EXAMPLES[silo], largest=job.largest_silo),
            weighted_domain(model.size, job.largest_weight),
        )


def written(vector: np.ndarray, domain: RealDomain) -> Iterator[bytes]:
    """The vector as a sum could carry it without a mask: as floats, and as points of the grid, in words or packed."""
    yield from (vector.astype(dtype).tobytes() for dtype in ("<f4", "<f8"))
    grid = FixedPoint(PRECISION_BITS)
    inner = grid.domain(domain, len(NAMES))
    session = Session(bytes(32), NAMES, domain, grid.name, len(NAMES), (bytes(32),) * len(NAMES))
    points = grid.encode(vector, session, SeededRandomness(0))
    yield from (points.astype(dtype).tobytes() for dtype in ("<u4", "<i8"))
    ring = ring_for(inner, len(NAMES))
    yield ring.pack(ring.words(points))


def parts(content: bytes, *, count: int = 6, size: int = 48) -> list[bytes]:
    """Stretches of it that look like nothing else: a database breaks what it keeps into pages."""
    stretches = [content[start : start + size] for start in range(0, len(content) - size, len(content) // count)]
    telling = [stretch for stretch in stretches if len(set(stretch)) > size // 4]
    assert len(telling) > 1
    return telling


BY_HAND = {"secagg_plus", "ring", "paillier", "ckks_one_key"}
"""The first is secagg for so few silos; the second is for teaching, the others are for comparison."""


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind in BY_HAND)) for kind in get_args(SumKind)]
)
def test_a_run_ends_with_the_mean_and_every_party_well_and_no_vector_at_the_aggregator_unless_its_sum_is_plain(
    consortium_of: ConsortiumOf, kind: str
) -> None:
    chosen = {"kind": kind}
    schedule = {**SHORT, "tuning_sum": chosen}
    consortium = consortium_of(warm_start=KERNEL_MEAN, secure_sum=chosen, schedule=schedule)
    truth = watched(consortium)
    model = consortium.start().finish()
    assert np.array_equal(model, consortium.model("models/round_1.safetensors"))
    for number, stage in enumerate(("phase_1", "round_1")):
        mean = truth.mean(number, set(NAMES))
        found = consortium.model(f"models/{stage}.safetensors")
        assert np.abs(found - mean).max() <= truth.error_bound(mean, set(NAMES))
    on_disk = b"".join(path.read_bytes() for path in consortium.state("aggregator").rglob("*") if path.is_file())
    for name in NAMES:
        assert (consortium.run_folder(name) / "global.safetensors").exists()
        for vector, domain in contributions(consortium, truth, name):
            seen = [any(part in on_disk for part in parts(content)) for content in written(vector, domain)]
            assert seen == [kind == "plain", False, False, False, False]


def test_the_status_knows_the_round_and_what_every_silo_has_spent_as_soon_as_it_is_told(
    consortium_of: ConsortiumOf,
) -> None:
    """After the sum of the kernel means, whose epsilon the job says, and with each reply to a training."""
    consortium = consortium_of(warm_start=KERNEL_MEAN)
    statuses = list[tuple[str, int, list[float]]]()

    def on_event(event: Event) -> None:
        if event["event"] == "asks" and event["what"] in ("train", "finish"):
            status = ask_status(consortium.kits / "operator" / "operator.yaml")
            statuses.append((event["what"], status.round, [silo.epsilon_spent for silo in status.silos]))

    consortium.aggregator.paced, consortium.aggregator.on_event = True, on_event
    consortium.start().finish()
    assert [(what, number) for what, number, _ in statuses] == [("train", 0), ("train", 1), ("finish", 1)]
    first, second, last = (epsilons for *_, epsilons in statuses)
    assert all(0.98 * KERNEL_MEAN["epsilon"] < shown <= KERNEL_MEAN["epsilon"] for shown in first)
    assert all(before < after <= 10 for before, after in zip(first, second, strict=True))
    ledgers = [audit_lines(consortium, name, "answers")[-1]["epsilon"] for name in NAMES]
    assert all(exact <= shown <= exact + 0.5 for exact, shown in zip(ledgers, last, strict=True)), "rounded up"
    spent = audit_lines(consortium, "aggregator", "spent")
    assert len(spent) == 3 * 3, "once each: the warm start, phase 1, the round"
