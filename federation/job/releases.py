"""Every sum of a job, derived once: by which scheme and noise, over which domain, among whom, and what it costs.

Both sides compute it from the job. A silo compares it with the session that it is asked to join, and refuses any other:
the aggregator cannot talk it into less noise, another scheme or fewer participants. Plan, policy, ledger and report
read the same list.
"""

from collections.abc import Iterator, Mapping
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
from siloseal.federation.job.phases import Phase, asked_by, participants, rounds_of
from siloseal.federation.job.quorum import quorum_of, sum_of
from siloseal.federation.job.sections.privacy import SiloLevel
from siloseal.federation.job.sections.warm_start import KernelMeanStart, LeaderStart
from siloseal.federation.job.weighting import weighted_domain
from siloseal.federation.privacy.events import Event
from siloseal.federation.privacy.mechanism import Mechanism
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.plain.plain_sum import PlainSum
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
    """Phase of the job, or title of the query, by which the ledger names the release."""
    round: int
    """Round of the phase; 0 where the phase has no rounds."""
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
        here = sum_id(run.beacon, self.phase, self.round)
        return Session(here, self.roster, self.domain, self.scheme.name, self.quorum, keys, start)


def sum_id(beacon: bytes, phase: str, round: int) -> bytes:
    """The id of the one sum over what this phase, or this round of it, prepares.

    Silos compute it themselves, and prepare nothing twice: two sums never have one session, so nothing that was signed
    in one of them can be replayed in the other. The beacon hashes a nonce of every silo, and the phases and rounds are
    the job's. So nobody can try out ids, as one could with the numbers of requests, which may leave out some, or with
    anything else that the aggregator says once it knows the nonces.
    """
    if len(beacon) != BEACON_BYTES:
        raise WrongRound("sums have no id before this party has everyone's nonce; begin another run")
    return statement("a sum of a run", beacon, phase.encode(), round.to_bytes(8, "little"))


def releases(job: Job, lengths: Lengths) -> Iterator[Release]:
    """Every release of the job, in order. Noise is calibrated once for each phase: it is the same in all its rounds."""
    for phase in Phase:
        first: Release | None = None
        for number in rounds_of(job, phase):
            first = release_of(job, lengths, phase, number) if first is None else first
            yield replace(first, round=number, roster=asked_by(job, phase, number))


def counted(job: Job, lengths: Lengths) -> list[tuple[Release, int]]:
    """The first release of each phase, and the number of releases that the phase has."""
    phases = groupby(releases(job, lengths), key=lambda release: release.phase)
    return [(next(group), 1 + sum(1 for _ in group)) for _, group in phases]


def release_of(job: Job, lengths: Lengths, phase: Phase, round: int, clip_norm: float = 0.0) -> Release:
    """The release of one round; `clip_norm` is that of its updates where the job lets it move, and 0 elsewhere."""
    if round not in rounds_of(job, phase):
        raise WrongRound(f"the job has no sum in {phase}, round {round}")
    roster = asked_by(job, phase, round)
    match phase, job.warm_start:
        case Phase.WARM_START, KernelMeanStart():
            return _kernel_mean(job, lengths.kernel_mean, roster)
        case Phase.WARM_START, LeaderStart():
            # A sum of one: no scheme can hide it, and it is differentially private on its own.
            domain = weighted_domain(lengths.model, job.largest_weight)
            return Release(phase, round, Content.MODEL, PlainSum(), None, domain, roster, 1, None)
    if isinstance(job.privacy, SiloLevel):
        return _update(job, job.privacy, lengths.model, phase, round, clip_norm)
    domain = weighted_domain(lengths.model, job.largest_weight)
    quorum = quorum_of(job, phase, len(roster))
    return Release(phase, round, Content.MODEL, sum_of(job, phase), None, domain, roster, quorum, None)


def _kernel_mean(job: Job, length: int, roster: tuple[str, ...]) -> Release:
    """The kernel mean's release. A feature is at most 1, so an entry is at most the silo's number of examples."""
    domain, quorum = RealDomain(length, float(job.largest_silo)), quorum_of(job, Phase.WARM_START, len(roster))
    mechanism = kernel_mean_mechanism(job, domain)
    event = None if mechanism is None else mechanism.event(domain, honest(job, quorum))
    inner = sum_of(job, Phase.WARM_START)
    return Release(Phase.WARM_START, 0, Content.KERNEL_MEAN, inner, mechanism, domain, roster, quorum, event)


def _update(job: Job, privacy: SiloLevel, length: int, phase: Phase, round: int, clip_norm: float) -> Release:
    """The release of updates. The noise is in proportion to the round's clip norm, and the cost always the same."""
    roster = participants(job, round)
    domain = RealDomain(length + extra_entries(job), protected_norm(job, clip_norm or privacy.clip_norm))
    mechanism, quorum = update_mechanism(job, privacy, phase, domain), quorum_of(job, phase, len(roster))
    event = mechanism.event(domain, honest(job, quorum))
    return Release(phase, round, Content.UPDATE, sum_of(job, phase), mechanism, domain, roster, quorum, event)
