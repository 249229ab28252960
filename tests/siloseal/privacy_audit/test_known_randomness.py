"""The learner's randomness in an audit."""

import numpy as np

from siloseal.privacy_audit.known_randomness import KnownRandomness, StepDraws


def test_a_longer_draw_begins_with_the_shorter_one() -> None:
    """Else the canary, which is the last row, would shift the noise on everybody else's."""
    known = KnownRandomness()
    for draw in (known.normals, known.uniforms):
        known.begin("once")
        short = draw(7)
        known.begin("again")
        assert np.array_equal(draw(11)[:7], short)
    known.begin("once")
    short = known.bits(5)
    known.begin("again")
    assert known.bits(9)[:5] == short


def test_draws_differ_within_a_stretch() -> None:
    known = KnownRandomness()
    assert known.bits(16) != known.bits(16)


def test_a_steps_draws_stay_until_the_next_step_begins() -> None:
    draws = StepDraws()
    assert draws.drawn is None
    first = draws.bits(16)
    assert draws.bits(16) == first == draws.drawn
    draws.begin("step")
    assert draws.drawn is None
    assert draws.bits(16) != first
