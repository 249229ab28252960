"""Every sum of a job, derived once: by which scheme and noise, over which domain, among whom, and what it costs.

Both sides compute it from the job. A silo compares it with the session that it is asked to join, and refuses any other:
the aggregator cannot talk it into less noise, another scheme or fewer participants. Plan, policy, ledger and report
read the same list.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import groupby

from siloseal.federation.errors import WrongRound
from siloseal.federation.job.agreement import statement
from siloseal.federation.job.beacon import BEACON_BYTES
from siloseal.federation.job.job import Job
from siloseal.federation.job.noise_on_sums import (
    extra_entries,
    honest,
    kernel_mean_mechanism,
    protected_norm,
    update_mechanism,
)
from siloseal.federation.job.phase_sums import phase_sum
from siloseal.federation.job.phases import Phase, asked_by, rounds_of
from siloseal.federation.job.sections.privacy import SiloLevel
from siloseal.federation.job.sections.warm_start import KernelMeanStart
from siloseal.federation.job.weighting import weighted_domain
from siloseal.federation.privacy.events import Event
from siloseal.federation.privacy.mechanism import Mechanism
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import RealDomain, Session


@dataclass(frozen=True)
class Lengths:
    """Numbers of entries of the vectors that travel: the kernel mean, 0 where there is none, and the model."""

    kernel_mean: int
    model: int


NOTHING_TRAINED = Lengths(0, 0)
"""The lengths of a job of queries."""


class Content(StrEnum):
    """What each silo contributes to a sum."""

    KERNEL_MEAN = "kernel_mean"
    MODEL = "model"
    """The trained model, weighted by the number of examples."""
    UPDATE = "update"
    """The clipped difference between the trained model and its start."""
    COUNTS = "counts"
    """The counts of a query."""


@dataclass(frozen=True)
class Run:
    """The names of a run and of everyone in it, once all nonces are known."""

    beacon: bytes
    """32 bytes that hash a nonce of every silo (`federation.job.beacon`)."""
    identities: Mapping[str, bytes]
    """Public identity key of each silo, as this party knows it."""


@dataclass(frozen=True)
class Release:
    """One sum: what all parties agree on before its first message, and what it costs each silo on the roster."""

    phase: str
    """Phase of the job, or query with its number: the stage of a run that the release ends, or takes further."""
    round: int
    """Round of the phase, 0 where the phase has no rounds; number of the query's earlier releases."""
    entry: str
    """Name of the release in a silo's ledger: the phase, or the query with the number of its release."""
    content: Content
    inner: SecureSum
    """The sum, noise aside."""
    mechanism: Mechanism | None
    """Noise on the sum; None where there is none, or where the training was noised step by step."""
    domain: RealDomain
    roster: tuple[str, ...]
    """The silos that the sum asks."""
    quorum: int
    """Number of silos that must stay to the end."""
    event: Event | None
    """Cost of the release to a silo; None where the ledger was charged step by step, or privacy is off."""

    @cached_property
    def scheme(self) -> SecureSum:
        """The sum with its noise."""
        return self.inner if self.mechanism is None else NoisySum(self.mechanism, self.inner)

    def session(self, run: Run, start: bytes = b"") -> Session:
        """The one session of this release in a run; `start` names the public state that everyone started from."""
        keys = tuple(run.identities[silo] for silo in self.roster)
        here = sum_id(run.beacon, self.entry, self.round)
        return Session(here, self.roster, self.domain, self.scheme.name, self.quorum, keys, start)


def sum_id(beacon: bytes, entry: str, round: int) -> bytes:
    """The id of the one sum of this release in a run.

    Silos compute it themselves, and prepare nothing twice: two sums never have one session, so nothing that was signed
    in one of them can be replayed in the other. The beacon hashes a nonce of every silo, and the phases and rounds are
    the job's. So nobody can try out ids, as one could with the numbers of requests, which may leave out some, or with
    anything else that the aggregator says once it knows the nonces.
    """
    if len(beacon) != BEACON_BYTES:
        raise WrongRound("sums have no id before this party has everyone's nonce; begin another run")
    return statement("a sum of a run", beacon, entry.encode(), round.to_bytes(8, "little"))


def releases(job: Job, lengths: Lengths) -> Iterator[Release]:
    """Every release of the job, in order. Noise is calibrated once for each phase: it is the same in all its rounds."""
    for phase in Phase:
        first: Release | None = None
        for number in rounds_of(job, phase):
            first = release_of(job, lengths, phase, number) if first is None else first
            yield replace(first, round=number, roster=asked_by(job, phase, number))


def by_phase(releases: Iterable[Release]) -> list[tuple[Release, int]]:
    """The first release of each phase or query, and the number of releases that it has."""
    phases = groupby(releases, key=lambda release: release.phase)
    return [(next(group), 1 + sum(1 for _ in group)) for _, group in phases]


def events_of(releases: Iterable[Release]) -> list[Event]:
    """The costs of these releases; those without a cost of their own are left out."""
    return [release.event for release in releases if release.event is not None]


def release_of(job: Job, lengths: Lengths, phase: Phase, round: int, clip_norm: float = 0.0) -> Release:
    """The release of one round; `clip_norm` is that of its updates where the job lets it move, and 0 elsewhere."""
    if round not in rounds_of(job, phase):
        raise WrongRound(f"the job has no sum in {phase}, round {round}")
    found = phase_sum(job, phase)
    content, domain, mechanism = _contribution(job, lengths, phase, clip_norm)
    return Release(
        phase=phase,
        round=round,
        entry=phase,
        content=content,
        inner=found.config.build(),
        mechanism=mechanism,
        domain=domain,
        roster=asked_by(job, phase, round),
        quorum=found.quorum,
        event=None if mechanism is None else mechanism.event(domain, honest(job, found.quorum)),
    )


def _contribution(
    job: Job, lengths: Lengths, phase: Phase, clip_norm: float
) -> tuple[Content, RealDomain, Mechanism | None]:
    """What a silo contributes in a phase, the range of its entries, and the noise on the sum, where it has some."""
    if phase is Phase.WARM_START and isinstance(job.warm_start, KernelMeanStart):
        # A feature is at most 1, so an entry is at most the silo's number of examples.
        domain = RealDomain(lengths.kernel_mean, float(job.largest_silo))
        return Content.KERNEL_MEAN, domain, kernel_mean_mechanism(job, domain)
    if isinstance(privacy := job.privacy, SiloLevel):
        # The noise is in proportion to the round's clip norm, and the cost always the same.
        norm = protected_norm(job, clip_norm or privacy.clip_norm)
        domain = RealDomain(lengths.model + extra_entries(job), norm)
        return Content.UPDATE, domain, update_mechanism(job, privacy, phase, domain)
    return Content.MODEL, weighted_domain(lengths.model, job.largest_weight), None
