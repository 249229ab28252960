"""The silo's last word on a job, before anything touches its data."""

import math
from pathlib import Path

from siloseal.federation.analytics.any_job import AnyJob, load_any_job
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.guarantee import guarantee_in
from siloseal.federation.errors import LedgerDamaged, PolicyRefused
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase, asked_by, rounds_of
from siloseal.federation.job.planning import costs_of
from siloseal.federation.job.quorum import quorum_of
from siloseal.federation.job.releases import Lengths
from siloseal.federation.job.sections.privacy import NoPrivacy, SiloLevel
from siloseal.federation.job.sections.schedule import TwoPhase
from siloseal.federation.job.sections.warm_start import LeaderStart
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.epsilon import delta_text, epsilon_text
from siloseal.federation.privacy.events import Event, exchanged
from siloseal.silo.config import Policy
from siloseal.silo.ledger import Budget, Ledger
from siloseal.silo.state import SiloState

JOB_FILE = "job.yaml"
"""Name of the file, in a run's folder, with the job that the silo was offered in this run, and no other."""


def check_policy(policy: Policy, job: AnyJob, *, silo: str, lengths: Lengths, spent: Budget) -> None:
    """`PolicyRefused` with everything that the job would have to change, or the silo's policy, and where.

    `spent` is what this silo's earlier runs have cost. Epsilons and deltas add up (basic composition), because those
    runs saw the same examples. A job of queries trains no model, so that its `lengths` do not matter.
    """
    if isinstance(job, AnalyticsJob):
        found = _refused_queries(policy, job, spent)
    else:
        found = _refused_training(policy, job, silo, lengths, spent)
    if found:
        raise PolicyRefused(
            f"{silo}'s policy does not allow the job {job.name}: {', and '.join(found)}; change the job, or the policy "
            f"in {silo}'s silo.yaml"
        )


def _refused_training(policy: Policy, job: Job, silo: str, lengths: Lengths, spent: Budget) -> list[str]:
    found = [
        *_privacy(policy, job, silo, lengths, spent),
        *_sums(policy, job, silo),
        *_allowed("learner.kind", job.learner.kind, "learners", policy.learners),
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
        *_allowed("mechanism.kind", job.mechanism.kind, "mechanisms", policy.mechanisms),
        *_spending(policy, job.privacy.epsilon, job.privacy.epsilon, job.privacy.delta, spent),
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
        if (path := folder / "ledger.jsonl").exists():
            budget = Budget(privacy.epsilon, privacy.delta)
            with Ledger(path, silo=silo, budget=budget, guarantee=guarantee_in(job)) as ledger:
                events = [charge.event for charge in ledger.charges]
                silo_level = isinstance(privacy, SiloLevel)
                epsilon += of_one_example(events, privacy.delta) if silo_level else ledger.epsilon
                delta += privacy.delta if ledger.charges else 0.0
        elif trained:
            raise LedgerDamaged(
                f"{path} is gone, but the silo has trained in that run: what it spent is not known; restore the file "
                "from a backup"
            )
    return Budget(epsilon, delta)


def _privacy(policy: Policy, job: Job, silo: str, lengths: Lengths, spent: Budget) -> list[str]:
    found = _allowed("privacy.kind", job.privacy.kind, "privacy", policy.privacy)
    if isinstance(job.privacy, NoPrivacy):
        return found
    found += _allowed("mechanism.kind", job.noise.kind, "mechanisms", policy.mechanisms)
    if not isinstance(job.privacy, SiloLevel):
        return found + _spending(policy, job.privacy.epsilon, job.privacy.epsilon, job.privacy.delta, spent)
    of_silo = costs_of(job, silo, lengths)
    epsilon = of_one_example([event for events in of_silo.values() for event in events], job.privacy.delta)
    words = f" for the silo as a whole, which is {epsilon_text(epsilon)} for one example"
    return found + _spending(policy, job.privacy.epsilon, epsilon, job.privacy.delta, spent, words)


def _spending(policy: Policy, given: float, epsilon: float, delta: float, spent: Budget, words: str = "") -> list[str]:
    """What is wrong with a cost of `epsilon` for one example, which the job gives as `given`."""
    # What is shown of earlier runs is rounded up: to the digit it tells the sampling rate, and so the size of the data.
    rounded, found = _rounded_up(spent.epsilon, policy.largest_epsilon), list[str]()
    for name, write, shown, asked, before, earlier, largest, unit in (
        ("epsilon", "{:g}".format, given, epsilon, spent.epsilon, rounded, policy.largest_epsilon, words),
        ("delta", delta_text, delta, delta, spent.delta, spent.delta, policy.largest_delta, ""),
    ):
        if asked + before > largest * (1 + 1e-9):
            past = f" and earlier runs have spent up to {write(earlier)}" if before else ""
            found.append(f"privacy.{name} is {write(shown)}{unit}{past}, but policy.largest_{name} is {write(largest)}")
    return found


def of_one_example(events: list[Event], delta: float) -> float:
    """The cost to one of the silo's examples of releases that protect the silo as a whole: a policy counts examples."""
    return epsilon_of([exchanged(event) for event in events], delta)


def _rounded_up(spent: float, largest: float) -> float:
    """The number, rounded up to a twentieth of the most that is allowed."""
    return math.ceil(20 * spent / largest) / 20 * largest if math.isfinite(spent) else spent


def _sums(policy: Policy, job: Job, silo: str) -> list[str]:
    found = _allowed("secure_sum.kind", job.secure_sum.kind, "secure_sums", policy.secure_sums)
    if isinstance(job.schedule, TwoPhase) and job.schedule.tuning_rounds:
        tuning = job.schedule.tuning_sum
        found += _allowed("schedule.tuning_sum.kind", tuning.kind, "tuning_sums", policy.tuning_sums)
    if isinstance(job.warm_start, LeaderStart) and job.warm_start.silo == silo:
        found += _allowed("the sum of warm_start.silo alone", "plain", "secure_sums", policy.secure_sums)
    asked = [(phase, asked_by(job, phase, number)) for phase in Phase for number in rounds_of(job, phase)]
    quorums = [quorum_of(job, phase, len(roster)) for phase, roster in asked if silo in roster]
    fewest = min(quorums, default=policy.fewest_silos)
    return found + _too_few_silos(policy, fewest, "silos.names, silos.fewest, schedule.fraction")


def _too_few_silos(policy: Policy, fewest: int, where: str) -> list[str]:
    if fewest >= policy.fewest_silos:
        return []
    return [f"a sum of the job may be over {fewest} silos ({where}), but policy.fewest_silos is {policy.fewest_silos}"]


def _allowed(where: str, kind: str, name: str, allowed: tuple[str, ...]) -> list[str]:
    return [] if kind in allowed else [f"{where} is {kind}, but policy.{name} allows {', '.join(allowed) or 'none'}"]
