"""How numbers are written for people: sizes, times, shares and privacy, in the terminal and in every report."""

import math
from collections.abc import Sequence

from siloseal.federation.privacy.epsilon import MEANINGLESS_EPSILON, delta_text, epsilon_text, protects
from siloseal.federation.privacy.guarantee import in_short

NOT_MEASURED = "not measured"
NOT_KNOWN = "not known"
MOST_RUNS = 10  # of classes, beyond which a list of them is no longer read


def share(value: float | None) -> str:
    """An accuracy with three digits."""
    return NOT_MEASURED if value is None else f"{value:.3f}"


def percent(value: float | None, margin: float | None = None) -> str:
    """An accuracy like 81.9 %, with its margin in points where it has one."""
    if value is None:
        return NOT_MEASURED
    return f"{100 * value:.1f} %" if margin is None else f"{100 * value:.1f} % ± {100 * margin:.1f}"


def plain(value: float) -> str:
    """A number as people write it: 0.02, 5, 20,000; with a power of ten beyond a million and below a thousandth."""
    if math.isfinite(value) and value and not 1e-3 <= abs(value) < 1e6:
        digits, power = f"{value:.1e}".split("e")
        return f"{digits.removesuffix('.0')}e{int(power)}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def epsilon(value: float | None) -> str:
    """Epsilon in words; where it protects nobody, never as a bare number."""
    if value is None:
        return "no guarantee"
    return epsilon_text(value) if protects(value) else f"{value:.0f} (no meaningful guarantee)"


def delta(value: float | None) -> str:
    """Delta in digits, like 1e-5."""
    return "no guarantee" if value is None else delta_text(value)


def guarantee(epsilon: float | None, delta: float | None, *, limit: float = MEANINGLESS_EPSILON) -> str:
    """Epsilon and delta in words; above the limit, what epsilon is worth."""
    if epsilon is None:
        return "epsilon not recorded"
    if not protects(epsilon, limit=limit):
        shown = plain(float(f"{epsilon:.2g}")) if epsilon >= 100 else epsilon_text(epsilon)
        return f"no meaningful guarantee (epsilon {shown})"
    return in_short(epsilon, delta)


def byte_unit(largest: float) -> tuple[float, str]:
    """A divisor and its name, in powers of 1,000, so that `largest` has one to three digits before the point."""
    for power, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if largest >= power:
            return power, unit
    return 1.0, "bytes"


def size(count: float) -> str:
    """Bytes with three digits, in powers of 1,000."""
    power, unit = byte_unit(count)
    scaled = count / power
    return f"{scaled:.0f} {unit}" if unit == "bytes" or scaled >= 100 else f"{scaled:.3g} {unit}"


def duration(seconds: float) -> str:
    """A time with three digits: milliseconds, seconds, or minutes and hours."""
    if 0 < seconds < 0.9995:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 59.95 or not math.isfinite(seconds):
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def listed(words: Sequence[str]) -> str:
    """A list in words: one, two and three."""
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def classes(labels: Sequence[int] | None) -> str:
    """Labels with runs joined: 0-4, 7; of very scattered ones the number and the range: 30 of 0-57."""
    if labels is None:
        return NOT_KNOWN
    runs: list[list[int]] = []
    for label in sorted(set(labels)):
        if runs and label == runs[-1][-1] + 1:
            runs[-1].append(label)
        else:
            runs.append([label])
    if len(runs) > MOST_RUNS:
        return f"{sum(map(len, runs)):,} of {runs[0][0]}-{runs[-1][-1]}"
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs) or "none"
