from contextlib import suppress

import torch

from siloseal.models.process_randomness import RandomStates, kept_randomness


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
