"""What one thread seeds or looks at, no other one may draw from meanwhile."""

import threading
from contextlib import suppress

import pytest
import torch

from siloseal.federation.errors import RunError
from siloseal.federation.randomness import SecureRandomness, SeededRandomness
from siloseal.models.process_randomness import RandomStates, drawing, kept_randomness, secret_randomness


def test_what_is_drawn_or_seeded_inside_does_not_show_afterwards() -> None:
    before = RandomStates.now()
    with suppress(ZeroDivisionError), kept_randomness():
        torch.manual_seed(1)
        torch.rand(3)
        raise ZeroDivisionError
    assert before.equals(RandomStates.now())


def test_states_differ_after_a_draw_from_the_process_and_not_after_one_from_elsewhere() -> None:
    before = RandomStates.now()
    torch.rand(3, generator=torch.Generator())
    assert before.equals(RandomStates.now())
    torch.rand(3)
    assert not before.equals(RandomStates.now())


def test_other_threads_draw_before_or_after_and_never_within() -> None:
    ended = threading.Event()

    def draw() -> None:
        while not ended.is_set():
            with drawing():
                torch.rand(3)

    threads = [threading.Thread(target=draw) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        found = set()
        for _ in range(200):
            with kept_randomness():
                torch.default_generator.manual_seed(1)
                found.add(float(torch.rand(2000).sum()))
            with drawing(watched=True):
                before = RandomStates.now()
                torch.rand(2000, generator=torch.Generator())
                assert before.equals(RandomStates.now())
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert len(found) == 1


def test_whoever_is_alone_may_draw_and_be_alone_again() -> None:
    with kept_randomness(), drawing(), kept_randomness(), drawing(watched=True):
        before = RandomStates.now()
    assert before.equals(RandomStates.now())


def test_secret_draws_are_others_each_time_and_leave_no_trace() -> None:
    before, found = RandomStates.now(), set()
    for _ in range(3):
        with secret_randomness(SecureRandomness()):
            found.add(float(torch.rand(())))
        with suppress(ZeroDivisionError), secret_randomness(SecureRandomness()):
            found.add(float(torch.rand(())))
            raise ZeroDivisionError
    assert len(found) == 6
    assert before.equals(RandomStates.now())


def test_a_fresh_state_fills_every_word_of_the_twister_and_gives_uniform_numbers() -> None:
    """The mean of 100,000 uniforms is within 0.006 of a half but for one in 1e10 runs."""
    one, other = (RandomStates.fresh(SecureRandomness()).cpu for _ in range(2))
    words = [state[24 : 24 + 8 * 624].view(624, 8)[:, :4] for state in (one, other)]
    assert (words[0] != words[1]).any(1).all()  # two words are equal once in 7e6 runs
    with secret_randomness(SeededRandomness(1)):
        assert float(torch.rand(100_000).mean()) == pytest.approx(0.5, abs=0.006)


def test_secret_draws_repeat_where_their_source_repeats() -> None:
    found = []
    for _ in range(2):
        with secret_randomness(SeededRandomness(1)):
            found.append(torch.rand(3))
    assert torch.equal(*found)


def test_seeding_while_draws_are_secret_is_refused() -> None:
    before = RandomStates.now()
    with pytest.raises(RunError), secret_randomness(SecureRandomness()):
        torch.manual_seed(0)
    assert before.equals(RandomStates.now())
