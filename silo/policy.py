"""The silo's last word on a job: what can be told without its data first, what it would cost them before it trains."""

import math
from collections.abc import Sequence
from typing import assert_never

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import AnalyticsJob, RecordLevel
from siloseal.federation.analytics.releases import shared_noise
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.errors import PolicyRefused
from siloseal.federation.job.job import Job
from siloseal.federation.job.phase_sums import PhaseSum, phase_sums
from siloseal.federation.job.phases import asked_by, rounds_of
from siloseal.federation.job.planning import costs_of
from siloseal.federation.job.releases import Lengths
from siloseal.federation.job.sections.privacy import NoPrivacy, SiloLevel, UnitLevel
from siloseal.federation.privacy.epsilon import delta_text
from siloseal.federation.privacy.events import Event
from siloseal.models.user_code.pinning import not_deployable, weights_of
from siloseal.silo.allowance import NOTHING_SPENT, ROUNDED_UP, TOLERANCE, Allowance, Spent, roughly
from siloseal.silo.config import Policy
from siloseal.silo.queries import events_of_queries


def check_policy(policy: Policy, job: AnyJob, *, silo: str, lengths: Lengths, spent: Spent) -> None:
    """`PolicyRefused` with everything that the job would have to change, or the silo's policy, and where.

    `spent` is what this silo's earlier runs have cost one example. What the data have to be known for, `allow` asks
    later. Only a job that trains has `lengths` that matter.
    """
    match job:
        case AnalyticsJob():
            found = _refused_queries(policy, job, spent)
        case AverageJob():
            found = _refused_averages(policy, job)
        case Job():
            found = _refused_training(policy, job, silo, lengths, spent)
        case _:
            assert_never(job)
    if found:
        raise _refused(silo, job, found)


def _refused(silo: str, job: AnyJob, found: list[str]) -> PolicyRefused:
    return PolicyRefused(
        f"{silo}'s policy does not allow the job {job.name}: {', and '.join(found)}; change the job, or the policy in "
        f"{silo}'s silo.yaml"
    )


def require_allowed_code(policy: Policy, job: Job, *, silo: str) -> None:
    """`PolicyRefused` for a user's own code or weights that the policy or the deployment does not allow.

    It comes before anything is looked for, and its words say nothing of what lies on this machine.
    """
    brought = job.learner.code is not None or weights_of(job.learner) is not None
    if brought and (found := _learner(policy, job)):
        raise _refused(silo, job, found)


def _learner(policy: Policy, job: Job) -> list[str]:
    if found := not_deployable(job.learner):
        return found
    if job.learner.code is None:
        return _allowed("learner.kind", job.learner.kind, "learners", policy.learners)
    if (entry := job.learner.policy_entry) in policy.learners:
        return []
    return [
        f"learner runs {job.learner.code.target}, which policy.learners does not list with this digest; if you have "
        f'read that code, add "{entry}" to policy.learners'
    ]


def _refused_training(policy: Policy, job: Job, silo: str, lengths: Lengths, spent: Spent) -> list[str]:
    found = [
        *_privacy(policy, job, silo, lengths, spent),
        *_sums(policy, job, silo),
        *_learner(policy, job),
    ]
    if lengths.model > policy.largest_model:
        found.append(
            f"learner makes a model of {lengths.model} parameters, but policy.largest_model is {policy.largest_model}"
        )
    return found


def _refused_queries(policy: Policy, job: AnalyticsJob, spent: Spent) -> list[str]:
    """What is refused of a job of queries, which protects single records: examples, in the words of a policy."""
    kinds = dict.fromkeys(query.kind for query in job.queries)
    return [
        *(line for kind in kinds for line in _allowed("a query's kind", kind, "queries", policy.queries)),
        *_allowed("privacy.kind", "example_level", "privacy", policy.privacy),
        *_allowed("mechanism.kind", shared_noise(job).kind, "mechanisms", policy.mechanisms),
        *_spending(policy, job, job.privacy, spent, events_of_queries(job, [])),
        *_allowed("secure_sum.kind", job.secure_sum.kind, "secure_sums", policy.secure_sums),
        *_too_few_silos(policy, job.quorum, "silos.names, silos.fewest"),
    ]


def _refused_averages(policy: Policy, job: AverageJob) -> list[str]:
    """What is refused of a job of averages. They have no noise, so a silo must allow them by name: no epsilon does."""
    named = [] if policy.averages else ["averages open without noise, but policy.averages does not allow them"]
    return [
        *named,
        *_allowed("secure_sum.kind", job.secure_sum.kind, "secure_sums", policy.secure_sums),
        *_too_few_silos(policy, job.quorum, "silos.names, silos.fewest"),
    ]


def _privacy(policy: Policy, job: Job, silo: str, lengths: Lengths, spent: Spent) -> list[str]:
    found = _allowed("privacy.kind", job.privacy.kind, "privacy", policy.privacy)
    if isinstance(job.privacy, NoPrivacy):
        return found
    found += _allowed("mechanism.kind", job.noise.kind, "mechanisms", policy.mechanisms)
    if not isinstance(job.privacy, SiloLevel):
        return found + _spending(policy, job, job.privacy, spent, [])  # what its steps cost, only the data tell
    known = [event for events in costs_of(job, silo, lengths).values() for event in events]
    return found + _spending(policy, job, job.privacy, spent, known)


def _spending(
    policy: Policy, job: AnyJob, privacy: UnitLevel | SiloLevel | RecordLevel, spent: Spent, known: Sequence[Event]
) -> list[str]:
    """What is wrong with the cost of the job, by itself or with what earlier runs have spent.

    `known` are the events that can be told without the data.
    """
    found, most = list[str](), policy.largest_epsilon
    if not privacy.epsilon <= most:
        found.append(f"privacy.epsilon is {privacy.epsilon:g}, but policy.largest_epsilon is {most:g}")
    else:
        found += _beyond(Allowance(policy, job, spent, tuple(known)), privacy)
    if not privacy.delta <= policy.largest_delta:
        given, largest = delta_text(privacy.delta), delta_text(policy.largest_delta)
        found.append(f"privacy.delta is {given}, but policy.largest_delta is {largest}")
    return found


def allow(policy: Policy, job: AnyJob, planned: Sequence[Event], *, silo: str, spent: Spent) -> Allowance:
    """What the run's ledger may charge; `PolicyRefused` if the plan and all earlier runs cost an example too much.

    It comes when the data are there, which alone tell how many steps a silo takes and at which rate.
    """
    allowance = Allowance(policy, job, spent, tuple(planned))
    if not isinstance(job.privacy, NoPrivacy) and (found := _beyond(allowance, job.privacy)):
        raise _refused(silo, job, found)
    return allowance


def _beyond(allowance: Allowance, privacy: UnitLevel | SiloLevel | RecordLevel) -> list[str]:
    """What is wrong where all runs together would cost one example more than the policy allows."""
    most, delta, spent = allowance.policy.largest_epsilon, allowance.policy.largest_delta, allowance.spent
    if (epsilon := allowance.epsilon) <= most * TOLERANCE:
        return []
    words = f"privacy.epsilon is {privacy.epsilon:g} at delta {delta_text(privacy.delta)}"
    if earlier := spent != NOTHING_SPENT:
        words += f" and earlier runs have spent up to {roughly(spent.epsilon(delta), most):.4g}"
    if allowance.planned:
        words += f", {'together' if earlier else 'which is'} up to {roughly(epsilon, most):.4g}"
    words += ROUNDED_UP if math.isfinite(epsilon) else ""
    at = f"for one example at delta {delta_text(delta)} (policy.largest_delta)"
    return [f"{words} {at}, but policy.largest_epsilon is {most:g}{_reason(allowance)}"]


def _reason(allowance: Allowance) -> str:
    """The reason why nothing bounds what all runs cost, if nothing does, and the way on where it lies in the past."""
    if not (reason := allowance.together(allowance.planned).unbounded):
        return ""
    if not allowance.spent.unbounded:
        return f": {reason}"
    return (
        f": {reason}; the silo's owner can leave all past runs out, knowingly, by another folder as state in "
        "silo.yaml, which counts from nothing"
    )


def _sums(policy: Policy, job: Job, silo: str) -> list[str]:
    """What is refused of the sums that this silo takes part in."""
    joined = [one for one in phase_sums(job) if _takes_part(job, silo, one)]
    kinds = [line for one in joined for line in _allowed_sum(policy, one)]
    fewest = min((one.quorum for one in joined), default=policy.fewest_silos)
    found = list(dict.fromkeys(kinds))  # the warm start and phase 1 may have one sum
    return found + _too_few_silos(policy, fewest, "silos.names, silos.fewest, schedule.fraction")


def _takes_part(job: Job, silo: str, found: PhaseSum) -> bool:
    return any(silo in asked_by(job, found.phase, number) for number in rounds_of(job, found.phase))


def _allowed_sum(policy: Policy, found: PhaseSum) -> list[str]:
    kind = found.config.kind
    match found.section:
        case "schedule.tuning_sum":
            return _allowed("schedule.tuning_sum.kind", kind, "tuning_sums", policy.tuning_sums)
        case "warm_start":
            return _allowed("the sum of warm_start.silo alone", kind, "secure_sums", policy.secure_sums)
        case section:
            return _allowed(f"{section}.kind", kind, "secure_sums", policy.secure_sums)


def _too_few_silos(policy: Policy, fewest: int, where: str) -> list[str]:
    if fewest >= policy.fewest_silos:
        return []
    return [f"a sum of the job may be over {fewest} silos ({where}), but policy.fewest_silos is {policy.fewest_silos}"]


def _allowed(where: str, kind: str, name: str, allowed: tuple[str, ...]) -> list[str]:
    return [] if kind in allowed else [f"{where} is {kind}, but policy.{name} allows {', '.join(allowed) or 'none'}"]
