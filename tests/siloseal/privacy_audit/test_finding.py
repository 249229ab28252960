"""The verdict of guesses and measured noise together."""

from dataclasses import replace

import pytest

from siloseal.federation.privacy.events import BinomialRelease, Event, SampledGaussianSteps, SkellamRelease
from siloseal.privacy_audit.attackers import LOW_BITS
from siloseal.privacy_audit.finding import Finding
from siloseal.privacy_audit.guesses import ALPHA, BESIDE_SIZE, Guesses
from siloseal.privacy_audit.noise_size import NoiseSize
from siloseal.privacy_audit.sample_size import SampleSize

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


def few(guesses: int, noise: NoiseSize | None = None, attacker: str = "one") -> Finding:
    """So many guesses, of which every second is right, looked at once."""
    made = Guesses({attacker: BOUND}, (guesses,), ALPHA if noise is None else BESIDE_SIZE)
    for number in range(guesses):
        made.add(True, {attacker: number % 2 == 0})
    return Finding("steps", SampledGaussianSteps(1.0, 2.0, 1), made, noise, 0.0, 1.0, 1e-5, 1.0)


def test_guesses_that_could_not_find_missing_noise_test_nothing() -> None:
    """26 guesses at a bound of 0.5987 are all right once in 6e5, and 27 once in 1e6."""
    fewest = next(steps for steps in range(20, 40) if few(steps).guesses.needed(steps) <= steps)
    assert (few(fewest - 1).verdict, few(fewest).verdict) == ("not tested", "sound")
    assert few(fewest - 1).found_by_guesses is None


def test_guesses_about_few_samples_test_nothing_either() -> None:
    """Without noise they are right in 52.5 % of the steps, which does not differ from 51 % among so few."""
    sampled = replace(few(500), event=SampledGaussianSteps(0.05, 2.0, 1))
    assert not sampled.guesses_can_find
    assert sampled.verdict == "not tested"


def test_samples_that_could_not_be_found_too_large_are_not_tested() -> None:
    """Whatever is known of the noise: a trainer that takes everyone has noise of the booked size."""
    noise = NoiseSize(2.0, 1.0, squares=40_000.0, entries=10_000)
    sampled = replace(few(500, noise), event=SampledGaussianSteps(0.05, 2.0, 1))
    assert replace(sampled, sample=SampleSize(0.05, drawn=0, units=4)).verdict == "not tested"
    tested = replace(sampled, sample=SampleSize(0.05, drawn=0, units=8))
    assert (tested.verdict, tested.noise) == ("sound", noise)
    assert replace(sampled, sample=SampleSize(0.05, drawn=8, units=8)).verdict == "broken"


def test_three_tests_share_the_level() -> None:
    noise, sample = NoiseSize(2.0, 1.0, squares=40_000.0, entries=10_000), SampleSize(0.05, drawn=6, units=8)
    sampled = replace(few(500, noise), event=SampledGaussianSteps(0.05, 2.0, 1), sample=sample)
    assert noise.p_value == 1
    assert sampled.p_value == pytest.approx(4 * sample.p_value)


def test_too_few_steps_for_reused_noise_are_named() -> None:
    noise = NoiseSize(1.0, 1.0, squares=10_000.0, entries=10_000)
    said = [replace(few(steps, noise), canary_over_clip=2.0).untested for steps in (10, 500)]
    assert [len(words) for words in said] == [1, 0]


def test_a_noise_that_was_measured_is_a_test_where_entries_are_enough() -> None:
    """With noise of the booked size; eight entries could all be zero in a sound audit."""
    assert few(5, NoiseSize(1.0, 1.0, squares=10_000.0, entries=10_000)).verdict == "sound"
    assert few(5, NoiseSize(1.0, 1.0, squares=8.0, entries=8)).verdict == "not tested"


BINOMIAL = BinomialRelease(trials=10_000, l2=10.0, l1=20.0, linf=5.0, coordinates=4, delta=1e-5)


@pytest.mark.parametrize(
    "loose",
    [replace(few(500), event=BINOMIAL), few(500, attacker=LOW_BITS)],
    ids=["an epsilon-delta curve", "low bits"],
)
def test_no_power_is_claimed_where_it_is_not_known(loose: Finding) -> None:
    assert (loose.verdict, loose.power_of_guesses_is_known, loose.found_by_guesses) == ("sound", False, None)


@pytest.mark.parametrize("event", [SampledGaussianSteps(1.0, 2.0, 1), SkellamRelease(variance=400.0, l2=10.0, l1=20.0)])
def test_the_margin_of_a_bound_is_no_power(event: Event) -> None:
    """Both have noise multiplier 2, at which guesses are right in 59.87 % of the steps; another bound is only wider."""
    tight, wide = replace(few(2000), event=event), replace(few(2000), event=event)
    wide.guesses.bounds = {"one": BOUND + 0.03}
    assert tight.found_by_guesses is not None
    assert wide.found_by_guesses is not None
    assert wide.found_by_guesses > tight.found_by_guesses + 0.05
