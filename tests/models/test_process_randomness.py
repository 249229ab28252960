"""What one thread seeds or looks at, no other one may draw from meanwhile."""

import threading
from contextlib import suppress

import torch

from siloseal.models.process_randomness import RandomStates, drawing, kept_randomness


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
