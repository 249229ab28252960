"""How numbers of a run are written for people, on the console and in the report."""

from federation.accounting import MEANINGLESS_EPSILON, epsilon_text


def share(value: float | None) -> str:
    """An accuracy with three digits."""
    return "not measured" if value is None else f"{value:.3f}"


def epsilon(value: float | None) -> str:
    """Never a bare number where the number protects nobody."""
    if value is None:
        return "no guarantee"
    return epsilon_text(value) if value <= MEANINGLESS_EPSILON else f"{value:.0f} (no meaningful guarantee)"


def delta(value: float | None) -> str:
    """Like 1e-5."""
    return "no guarantee" if value is None else f"{value:g}".replace("e-0", "e-")


def size(count: float) -> str:
    """Bytes with three digits, in powers of 1,000."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "bytes" or count >= 100 else f"{count:.3g} {unit}"


def duration(seconds: float) -> str:
    """Seconds, or minutes and hours."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def classes(labels: list[int]) -> str:
    """Labels with runs joined: 0-4, 7."""
    runs: list[list[int]] = []
    for label in sorted(set(labels)):
        if runs and label == runs[-1][-1] + 1:
            runs[-1].append(label)
        else:
            runs.append([label])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs) or "none"
