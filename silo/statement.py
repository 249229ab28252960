"""What a silo says of its runs, by its ledgers: a line to quote, and how much of its policy they have spent."""

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.privacy.epsilon import delta_text, epsilon_text
from siloseal.federation.privacy.guarantee import NO_GUARANTEE, for_one_example
from siloseal.silo.allowance import epsilon_of_one_example
from siloseal.silo.ledger import Ledger
from siloseal.silo.queries import events_of_run


def spent_on_one_example(job: AnyJob, ledger: Ledger | None) -> float | None:
    """Epsilon of one example by this ledger; None where an example is the protected unit already."""
    return None if ledger is None else epsilon_of_one_example(job, events_of_run(job, ledger.charges))


def statement_of(job: AnyJob, silo: str, ledger: Ledger | None) -> str:
    """The guarantee of a silo that has this ledger, in one line that a person can quote."""
    if ledger is None:
        return f"{silo}: {NO_GUARANTEE}"
    epsilon, stated = spent_on_one_example(job, ledger), ledger.statement()
    if epsilon is None:
        return stated
    words = for_one_example(epsilon, ledger.budget.delta)
    return f"{stated} {words[0].upper()}{words[1:]}."


def spent_of_policy(job: AnyJob, ledger: Ledger | None) -> str | None:
    """How much of what the silo's policy allows all its runs have spent, exactly: for the silo itself, not for others.

    It is None without a ledger or a policy.
    """
    if ledger is None or ledger.allowance is None:
        return None
    policy = ledger.allowance.policy
    epsilon = ledger.allowance.together(events_of_run(job, ledger.charges)).epsilon(policy.largest_delta)
    return (
        f"all runs of this silo: epsilon {epsilon_text(epsilon)} of {policy.largest_epsilon:g} at delta "
        f"{delta_text(policy.largest_delta)} for one example"
    )
