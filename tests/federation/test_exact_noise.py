"""Tables of integer noise against exact probabilities, an exact sampler, and words that hit a bound."""

import bisect
import inspect
import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from siloseal.federation import exact_noise
from siloseal.federation.errors import ConfigError
from siloseal.federation.exact_noise import LARGEST_VARIANCE, TABLE_ERROR, TableSampler
from siloseal.federation.privacy.mechanisms.integer_noise import Binomial, DiscreteGaussian, Skellam
from siloseal.federation.randomness import SecureRandomness
from tests.federation.privacy.mechanisms.recorded import rows

from . import exact_sampler
from .table_chances import bounds_of, chances_of

ALARM = 1e-7
"""The chance that a statistical test of this file fails though nothing is wrong, for each of its cases."""

Exact = Callable[[int], mpmath.mpf]


def exact_gaussian(variance: float) -> Exact:
    with mpmath.workdps(70):
        reach = math.ceil(30 * math.sqrt(variance)) + 40
        total = mpmath.fsum(
            mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mpmath.mpf(variance))) for k in range(-reach, reach)
        )
    return lambda k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mpmath.mpf(variance))) / total


def exact_skellam(variance: float) -> Exact:
    return lambda k: mpmath.exp(-mpmath.mpf(variance)) * mpmath.besseli(abs(k), mpmath.mpf(variance))


def exact_binomial(trials: int) -> Exact:
    return lambda k: mpmath.mpf(math.comb(trials, trials // 2 + k)) / mpmath.mpf(2) ** trials


TABLES: dict[str, tuple[Callable[[], TableSampler], Callable[[], Exact]]] = {
    "discrete gaussian 0.5": (lambda: exact_noise.discrete_gaussian(0.5), lambda: exact_gaussian(0.5)),
    "discrete gaussian 7.3": (lambda: exact_noise.discrete_gaussian(7.3), lambda: exact_gaussian(7.3)),
    "discrete gaussian 40000": (lambda: exact_noise.discrete_gaussian(40000.0), lambda: exact_gaussian(40000.0)),
    "skellam 0.01": (lambda: exact_noise.skellam(0.01), lambda: exact_skellam(0.01)),
    "skellam 1.7": (lambda: exact_noise.skellam(1.7), lambda: exact_skellam(1.7)),
    "skellam 350": (lambda: exact_noise.skellam(350.0), lambda: exact_skellam(350.0)),
    "binomial 160": (lambda: exact_noise.centred_binomial(160), lambda: exact_binomial(160)),
    "binomial 1000": (lambda: exact_noise.centred_binomial(1000), lambda: exact_binomial(1000)),
    "binomial 5000": (lambda: exact_noise.centred_binomial(5000), lambda: exact_binomial(5000)),
}


def values_of(table: TableSampler) -> range:
    return range(table.lowest, table.lowest + len(chances_of(table)))


def chance_of(table: TableSampler, value: int) -> float:
    return float(chances_of(table)[value - table.lowest])


@pytest.mark.parametrize("name", TABLES)
class TestEveryTable:
    def test_its_chances_are_the_exact_ones_up_to_the_stated_error(self, name: str) -> None:
        """Half of all differences; what the table leaves out counts too."""
        table, exact = TABLES[name][0](), TABLES[name][1]()
        with mpmath.workdps(70):
            right = [exact(value) for value in values_of(table)]
            own = [mpmath.mpf(chance.numerator) / chance.denominator for chance in chances_of(table)]
            left_out = 1 - mpmath.fsum(right)
            distance = (mpmath.fsum(abs(a - b) for a, b in zip(own, right, strict=True)) + left_out) / 2
        assert sum(chances_of(table)) == 1
        assert distance < TABLE_ERROR
        assert distance < 2.0**-130  # there is room: the stated error is no accident of this variance

    def test_draws_have_these_chances(self, name: str) -> None:
        """Chi-square; it fails by chance once in ten million runs."""
        table, count = TABLES[name][0](), 300_000
        drawn = table.draw(count, SecureRandomness()) - table.lowest
        chances = np.array([float(chance) for chance in chances_of(table)])
        assert chi_square(np.bincount(drawn, minlength=chances.size), chances) > ALARM

    def test_words_on_both_sides_of_a_bound_fall_on_both_sides(self, name: str) -> None:
        """Every draw here ties in its first 64 bits, so all 192 decide, as the exact bounds do."""
        table = TABLES[name][0]()
        bounds = bounds_of(table)
        chosen = [bounds[place] for place in np.linspace(0, len(bounds) - 1, 25).astype(int)]
        for bound in chosen:
            low, high = bound >> 128 << 128, (bound >> 128 << 128) + 2**128 - 1
            for uniform in {low, max(low, bound - 1), bound, min(high, bound + 1), high}:
                source = ChosenBits([uniform])
                assert table.draw(1, source)[0] == table.lowest + bisect.bisect_right(bounds, uniform)
                assert source.asked == [2, 8, 16]

    def test_words_near_a_bound_fall_where_the_exact_bounds_put_them(self, name: str) -> None:
        """One word above or below a bound's: 64 bits decide, and no more are read."""
        table = TABLES[name][0]()
        bounds = bounds_of(table)
        words = {bound >> 128 for bound in bounds}
        for bound in bounds[:: max(1, len(bounds) // 40)]:
            for word in ((bound >> 128) - 1, (bound >> 128) + 1):
                if word in words or not 0 <= word < 2**64:
                    continue
                source = ChosenBits([word << 128])
                assert table.draw(1, source)[0] == table.lowest + bisect.bisect_right(bounds, word << 128)
                assert source.asked in ([2], [2, 8])

    def test_many_words_at_once_fall_where_the_exact_bounds_put_them(self, name: str) -> None:
        """Settled and undecided draws together, in their order."""
        table = TABLES[name][0]()
        bounds = bounds_of(table)
        words = [int(word) for word in np.frombuffer(SecureRandomness().bits(8 * 3000), dtype="<u8")]
        expected = [table.lowest + bisect.bisect_right(bounds, word << 128) for word in words]
        assert table.draw(len(words), AllWords(words, table)).tolist() == expected

    def test_it_is_symmetric(self, name: str) -> None:
        table = TABLES[name][0]()
        chances = chances_of(table)
        assert table.lowest == -(len(chances) // 2)
        assert all(abs(one - other) <= Fraction(2, 2**192) for one, other in zip(chances, chances[::-1], strict=True))


@pytest.mark.parametrize("variance", [0.5, 2.25, 30.0])
def test_the_discrete_gaussian_table_agrees_with_the_exact_sampler(variance: float) -> None:
    """Chi-square of two samples; it fails by chance once in ten million runs."""
    slow = np.array([exact_sampler.discrete_gaussian(Fraction(variance)) for _ in range(6000)])
    assert two_samples(slow, exact_noise.discrete_gaussian(variance).draw(100_000, SecureRandomness())) > ALARM


@pytest.mark.parametrize("variance", [0.25, 1.5, 6.0])
def test_the_skellam_table_agrees_with_the_exact_sampler(variance: float) -> None:
    """Chi-square of two samples; it fails by chance once in ten million runs."""
    slow = np.array([exact_sampler.skellam(Fraction(variance)) for _ in range(6000)])
    assert two_samples(slow, exact_noise.skellam(variance).draw(100_000, SecureRandomness())) > ALARM


@pytest.mark.parametrize("row", rows("discrete_gaussian.pmf_and_variance"), ids=lambda row: str(row["inputs"]))
def test_discrete_gaussian_chances_equal_the_recorded_ones(row: dict[str, dict[str, float]]) -> None:
    table = exact_noise.discrete_gaussian(float(row["inputs"]["sigma2"]))
    expected, rel = row["expected"], row["tolerance"]["rel"]
    variance = sum(value**2 * chance for value, chance in zip(values_of(table), chances_of(table), strict=True))
    assert chance_of(table, 0) == pytest.approx(expected["P0"], rel=rel)
    assert chance_of(table, 1) == pytest.approx(expected["P1"], rel=rel)
    assert float(variance) == pytest.approx(expected["variance"], rel=rel)


@pytest.mark.parametrize("row", rows("discrete_gaussian.exact_delta"), ids=lambda row: str(row["inputs"]))
def test_the_tables_delta_equals_the_recorded_one(row: dict[str, dict[str, float]]) -> None:
    """What one table draw protects, by the definition of (epsilon, delta), summed over all outcomes."""
    inputs = row["inputs"]
    chances = [float(chance) for chance in chances_of(exact_noise.discrete_gaussian(float(inputs["sigma2"])))]
    shifted = [0.0] * int(inputs["sensitivity"]) + chances
    excess = (one - math.exp(inputs["epsilon"]) * other for one, other in zip(chances, shifted, strict=False))
    assert sum(max(0.0, part) for part in excess) == pytest.approx(row["expected"], rel=row["tolerance"]["rel"])


@pytest.mark.parametrize("row", rows("skellam.pmf"), ids=lambda row: str(row["inputs"]))
def test_skellam_chances_equal_the_recorded_ones(row: dict[str, dict[str, float]]) -> None:
    table = exact_noise.skellam(float(row["inputs"]["variance"]))
    for value in range(3):
        assert chance_of(table, value) == pytest.approx(row["expected"][f"P{value}"], rel=row["tolerance"]["rel"])


def test_a_skellam_table_of_a_large_variance_satisfies_bessels_recurrence() -> None:
    """With symmetry and falling chances it has one solution only; direct Bessel functions would take minutes."""
    variance = 1_000_000
    table = exact_noise.skellam(float(variance))
    chances = chances_of(table)[-table.lowest :]
    for k in range(1, len(chances) - 1, 97):
        assert abs(chances[k - 1] - chances[k + 1] - Fraction(2 * k, variance) * chances[k]) < Fraction(1, 2**135)


@pytest.mark.parametrize("variance", [1e6, 2.0**24])
def test_the_variance_of_a_large_table_is_right(variance: float) -> None:
    for table in (
        exact_noise.discrete_gaussian(variance),
        exact_noise.skellam(variance),
        exact_noise.centred_binomial(int(4 * variance)),
    ):
        chances = np.array([float(chance) for chance in chances_of(table)])
        values = np.arange(table.lowest, table.lowest + chances.size, dtype=np.float64)
        assert chances @ values**2 == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("trials", [2, 4, 12, 40, 100, 140])
def test_few_coins_have_the_exact_chances(trials: int) -> None:
    """Many honest silos need few coins each."""
    table = exact_noise.centred_binomial(trials)
    for value in range(-trials // 2, trials // 2 + 1):
        assert chance_of(table, value) == pytest.approx(
            math.comb(trials, trials // 2 + value) / 2**trials, abs=2.0**-60
        )
    assert set(table.draw(2000, SecureRandomness()).tolist()) <= set(range(-trials // 2, trials // 2 + 1))


@pytest.mark.parametrize("variance", [0.0, -1.0, math.nan, math.inf, 2 * LARGEST_VARIANCE])
@pytest.mark.parametrize(
    "table", [exact_noise.discrete_gaussian, exact_noise.skellam], ids=lambda table: str(table.__name__)
)
def test_a_variance_that_is_not_tabulated_is_refused(table: Callable[[float], TableSampler], variance: float) -> None:
    with pytest.raises(ConfigError, match="variance"):
        table(variance)


@pytest.mark.parametrize("trials", [0, -2, 1, 3, 1001])
def test_coins_that_are_no_even_number_are_refused(trials: int) -> None:
    with pytest.raises(ConfigError):
        exact_noise.centred_binomial(trials)


def test_no_draw_costs_no_bits_and_two_draws_differ() -> None:
    for part in (DiscreteGaussian(900.0), Skellam(900.0), Binomial(3600, 1e-6)):
        first, second = (part.sampler.draw(100, SecureRandomness()) for _ in range(2))
        assert part.sampler.draw(0, SecureRandomness()).size == 0
        assert not np.array_equal(first, second)


def test_a_draw_takes_a_count_and_a_source_and_nothing_else() -> None:
    parameters = inspect.signature(TableSampler.draw).parameters
    assert list(parameters) == ["self", "count", "randomness"]
    assert parameters["randomness"].default is inspect.Parameter.empty


class ChosenBits:
    """Gives out given 192-bit numbers, as a table asks for them: 16 bits, 48, and the rest."""

    def __init__(self, uniforms: list[int]) -> None:
        self._uniforms, self.asked = uniforms, list[int]()

    def bits(self, count: int) -> bytes:
        self.asked.append(count)
        (uniform,) = self._uniforms
        match len(self.asked):
            case 1:
                return (uniform >> 176).to_bytes(2, "little")
            case 2:
                return ((uniform >> 128 & 2**48 - 1) << 16).to_bytes(8, "little")
            case _:
                return (uniform & 2**128 - 1).to_bytes(16, "little")

    def begin(self, stretch: str) -> None: ...

    uniforms = normals = None  # type: ignore[assignment]


class AllWords:
    """Gives out given 64-bit words: the upper bits of all, then the lower bits of those that they leave undecided."""

    def __init__(self, words: list[int], table: TableSampler) -> None:
        bounds = {bound >> 176 for bound in bounds_of(table)}
        self._first = np.array([word >> 48 for word in words], dtype="<u2").tobytes()
        undecided = [word for word in words if word >> 48 in bounds]
        self._second = np.array([(word & 2**48 - 1) << 16 for word in undecided], dtype="<u8").tobytes()
        self._left = [self._first, self._second]

    def bits(self, count: int) -> bytes:
        given = self._left.pop(0)
        assert len(given) == count
        return given

    def begin(self, stretch: str) -> None: ...

    uniforms = normals = None  # type: ignore[assignment]


def chi_square(observed: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    """The p-value; neighbouring values are put together until each class expects twenty."""
    expected = chances * observed.sum()
    classes = np.floor(np.cumsum(expected) / 20).astype(int)
    seen, due = (np.bincount(classes, weights=part) for part in (observed, expected))
    keep = due > 10
    return float(stats.chisquare(seen[keep], due[keep] * seen[keep].sum() / due[keep].sum()).pvalue)


def two_samples(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    lowest, highest = np.quantile(one, [0.003, 0.997]).astype(int)
    counts = [
        np.bincount(np.clip(part, lowest, highest) - lowest, minlength=highest - lowest + 1) for part in (one, other)
    ]
    return float(stats.chi2_contingency(counts).pvalue)
