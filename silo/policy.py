"""The silo's last word on a job, before anything touches its data."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import assert_never

from siloseal.federation.analytics.any_job import AnyJob, load_any_job
from siloseal.federation.analytics.config import AnalyticsJob, RecordLevel
from siloseal.federation.analytics.guarantee import guarantee_in
from siloseal.federation.analytics.releases import shared_noise
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.errors import LedgerDamaged, PolicyRefused
from siloseal.federation.job.job import Job
from siloseal.federation.job.phase_sums import PhaseSum, phase_sums
from siloseal.federation.job.phases import asked_by, rounds_of
from siloseal.federation.job.planning import costs_of
from siloseal.federation.job.releases import Lengths
from siloseal.federation.job.sections.privacy import NoPrivacy, SiloLevel
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.epsilon import delta_text, epsilon_text
from siloseal.federation.privacy.events import Event, exchanged
from siloseal.models.user_code.pinning import not_deployable, weights_of
from siloseal.silo.config import Policy
from siloseal.silo.ledger import LEDGER_FILE, Budget
from siloseal.silo.ledger_reading import read_ledger
from siloseal.silo.state import SiloState

JOB_FILE = "job.yaml"
"""Name of the file, in a run's folder, with the job that the silo was offered in this run, and no other."""


def check_policy(policy: Policy, job: AnyJob, *, silo: str, lengths: Lengths, spent: Budget) -> None:
    """`PolicyRefused` with everything that the job would have to change, or the silo's policy, and where.

    `spent` is what this silo's earlier runs have cost. Epsilons and deltas add up (basic composition), because those
    runs saw the same examples. Only a job that trains has `lengths` that matter.
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


def _refused_training(policy: Policy, job: Job, silo: str, lengths: Lengths, spent: Budget) -> list[str]:
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


def _refused_queries(policy: Policy, job: AnalyticsJob, spent: Budget) -> list[str]:
    """What is refused of a job of queries, which protects single records: examples, in the words of a policy."""
    kinds = dict.fromkeys(query.kind for query in job.queries)
    return [
        *(line for kind in kinds for line in _allowed("a query's kind", kind, "queries", policy.queries)),
        *_allowed("privacy.kind", "example_level", "privacy", policy.privacy),
        *_allowed("mechanism.kind", shared_noise(job).kind, "mechanisms", policy.mechanisms),
        *_spending(policy, Budget(job.privacy.epsilon, job.privacy.delta), spent),
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


def spent_in(runs: list[Path], silo: str) -> Budget:
    """The budget that these runs of the silo have spent together, by their jobs and ledgers."""
    epsilon = delta = 0.0
    for folder in runs:
        job, trained = load_any_job(folder / JOB_FILE), SiloState(folder).has_trained()
        if isinstance(privacy := job.privacy, NoPrivacy):
            if trained:
                return Budget(math.inf, math.inf)  # without noise: nothing bounds what it reveals
            continue
        if (path := folder / LEDGER_FILE).exists():
            events = _charged(path, silo, job, Budget(privacy.epsilon, privacy.delta), SiloState(folder).kept_charges())
            epsilon += _cost_to_one_example(job, events, privacy.delta) if events else 0.0
            delta += privacy.delta if events else 0.0
        elif trained:
            raise LedgerDamaged(
                f"{path} is gone, but the silo has trained in that run: what it spent is not known; restore the file "
                "from a backup"
            )
    return Budget(epsilon, delta)


def _charged(path: Path, silo: str, job: AnyJob, budget: Budget, kept: int) -> list[Event]:
    """The charges of an earlier run, if they are all there: a checkpoint of that run has counted them."""
    ledger, guarantee = read_ledger(path), guarantee_in(job)
    relation = guarantee.relation if guarantee.goes_by(ledger.relation) else ledger.relation
    found = (ledger.silo, ledger.budget, ledger.unit, relation)
    if found != (expected := (silo, budget, guarantee.unit, guarantee.relation)):
        raise LedgerDamaged(
            f"{path} is the ledger of {found}, but the job beside it has {expected}: one of the two files is another "
            "run's; restore them from a backup"
        )
    if len(ledger.charges) < kept:
        raise LedgerDamaged(
            f"{path} holds {len(ledger.charges)} charges, but the silo had made {kept} by its last checkpoint: lines "
            "are missing; restore the file from a backup"
        )
    return [charge.event for charge in ledger.charges]


def _cost_to_one_example(job: AnyJob, events: list[Event], delta: float) -> float:
    match job.privacy:
        case SiloLevel():
            return of_one_example(events, delta)
        case RecordLevel(epsilon=epsilon):
            return epsilon  # not what was charged: when a query ends depends on the records
        case _:
            return epsilon_of(events, delta)


def _privacy(policy: Policy, job: Job, silo: str, lengths: Lengths, spent: Budget) -> list[str]:
    found = _allowed("privacy.kind", job.privacy.kind, "privacy", policy.privacy)
    if isinstance(job.privacy, NoPrivacy):
        return found
    found += _allowed("mechanism.kind", job.noise.kind, "mechanisms", policy.mechanisms)
    if not isinstance(job.privacy, SiloLevel):
        return found + _spending(policy, Budget(job.privacy.epsilon, job.privacy.delta), spent)
    of_silo = costs_of(job, silo, lengths)
    epsilon = of_one_example([event for events in of_silo.values() for event in events], job.privacy.delta)
    given = f"{job.privacy.epsilon:g} for the silo as a whole, which is {epsilon_text(epsilon)} for one example"
    return found + _spending(policy, Budget(epsilon, job.privacy.delta), spent, given=given)


def _spending(policy: Policy, asked: Budget, spent: Budget, *, given: str = "") -> list[str]:
    """What is wrong with this cost for one example; `given` is how the job gives its epsilon, if in other words."""
    # What is shown of earlier runs is rounded up: to the digit it tells the sampling rate, and so the size of the data.
    found, tolerance = list[str](), 1 + 1e-9
    if not asked.epsilon + spent.epsilon <= policy.largest_epsilon * tolerance:
        given = given or f"{asked.epsilon:g}"
        past = _earlier(_rounded_up(spent.epsilon, policy.largest_epsilon), "{:.4g}".format)
        found.append(f"privacy.epsilon is {given}{past}, but policy.largest_epsilon is {policy.largest_epsilon:g}")
    if not asked.delta + spent.delta <= policy.largest_delta * tolerance:
        given, most = f"{delta_text(asked.delta)}{_earlier(spent.delta, delta_text)}", delta_text(policy.largest_delta)
        found.append(f"privacy.delta is {given}, but policy.largest_delta is {most}")
    return found


def _earlier(spent: float, write: Callable[[float], str]) -> str:
    return f" and earlier runs have spent up to {write(spent)}" if spent else ""


def of_one_example(events: list[Event], delta: float) -> float:
    """The cost to one of the silo's examples of releases that protect the silo as a whole: a policy counts examples."""
    return epsilon_of([exchanged(event) for event in events], delta)


def _rounded_up(spent: float, largest: float) -> float:
    """The number, rounded up to a twentieth of the most that is allowed."""
    return math.ceil(20 * spent / largest) / 20 * largest if math.isfinite(spent) else spent


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
