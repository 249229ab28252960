"""How long to wait before the next try."""

from siloseal.federation.transport.backoff import FIRST_SECONDS, LONGEST_SECONDS, Backoff


def waits(backoff: Backoff, count: int) -> list[float]:
    return [backoff.seconds() for _ in range(count)]


def test_waits_double_from_a_short_one_up_to_the_longest_and_stay_there() -> None:
    steps = [min(FIRST_SECONDS * 2**n, LONGEST_SECONDS) for n in range(50)]
    for wait, step in zip(waits(Backoff(), 50), steps, strict=True):
        assert step / 2 <= wait <= step
    assert steps[-1] == LONGEST_SECONDS


def test_two_that_lost_the_same_aggregator_come_back_at_different_moments() -> None:
    """Twenty equal pairs of doubles have a probability below 1e-300."""
    one, other = waits(Backoff(), 20), waits(Backoff(), 20)
    assert one != other


def test_waits_are_spread_over_half_of_their_step() -> None:
    """All of 200 uniform draws in one half of their range: a false alarm in 2 ** 199 runs."""
    backoff = Backoff()
    waits(backoff, 20)
    many = waits(backoff, 200)
    assert min(many) < 0.75 * LONGEST_SECONDS < max(many)


def test_after_a_success_waits_are_short_again() -> None:
    backoff = Backoff()
    waits(backoff, 20)
    backoff.reset()
    assert backoff.seconds() <= FIRST_SECONDS
