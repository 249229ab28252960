"""The verdict of guesses and measured noise together."""

from dataclasses import replace

import pytest

from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.privacy_audit.finding import Finding
from siloseal.privacy_audit.guesses import ALPHA, BESIDE_SIZE, Guesses
from siloseal.privacy_audit.noise_size import NoiseSize

BOUND = 0.5987


def finding(right: int, noise: NoiseSize | None) -> Finding:
    """500 guesses, so many of them right, looked at once."""
    guesses = Guesses({"one": BOUND}, (500,), ALPHA if noise is None else BESIDE_SIZE)
    for number in range(500):
        guesses.add(True, {"one": number < right})
    return Finding("steps", SampledGaussianSteps(1.0, 2.0, 1), guesses, noise, 0.0, 1.0, 1e-5, 1.0)


@pytest.mark.parametrize("noise", [None, NoiseSize(1.0, 1.0)], ids=["alone", "beside noise"])
def test_an_audit_that_ends_because_it_found_a_fault_says_broken(noise: NoiseSize | None) -> None:
    """Among these numbers is one that is evidence enough for guesses alone, and not beside a second test."""
    found = [finding(right, noise) for right in range(350, 362)]
    assert [one.guesses.found for one in found] == [one.verdict == "broken" for one in found]
    assert len({one.verdict for one in found}) == 2
    needed = found[0].guesses.needed(500)
    assert (finding(needed, noise).verdict, finding(needed - 1, noise).verdict) == ("broken", "sound")


def test_a_clip_that_the_canary_could_not_show_is_named() -> None:
    """A canary of half the clip norm never met the clip; one of 1.1 shows no clip that is 1.2 times too wide."""
    found = finding(0, None)
    said = [replace(found, canary_over_clip=length).untested_clip for length in (None, 2.0, 1.1, 0.5)]
    assert [text is None for text in said] == [True, True, False, False]
    assert said[2] != said[3]


def test_two_tests_share_the_level() -> None:
    noise = NoiseSize(1.0, 1.0, squares=8000.0, entries=10_000)
    assert noise.p_value < ALPHA / 2
    assert finding(0, noise).p_value == pytest.approx(2 * noise.p_value)
