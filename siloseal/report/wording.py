"""How numbers of a run are written for people, on the console and in the report."""

from collections.abc import Sequence

from siloseal.federation.privacy.epsilon import MEANINGLESS_EPSILON, epsilon_text
from siloseal.runs.summary import SiloSummary

MOST_RUNS = 10  # of classes, beyond which a list of them is no longer read


def share(value: float | None) -> str:
    """An accuracy with three digits."""
    return "not measured" if value is None else f"{value:.3f}"


def percent(value: float | None, margin: float | None = None) -> str:
    """An accuracy like 81.9 %, with its margin in points where it has one."""
    if value is None:
        return "not measured"
    return f"{100 * value:.1f} %" if margin is None else f"{100 * value:.1f} % ± {100 * margin:.1f}"


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


def sizes(silo: SiloSummary) -> dict[str, str]:
    """What a silo holds, by column: examples, and tasks where a run counts them."""
    tasks = {} if silo.tasks is None else {"tasks": f"{silo.tasks:,}"}
    return {"examples": f"{silo.examples:,}", **tasks}


def size_columns(silos: Sequence[SiloSummary]) -> list[str]:
    """The columns that some silo fills."""
    return list(dict.fromkeys(column for silo in silos for column in sizes(silo))) or ["examples"]


def classes(labels: list[int]) -> str:
    """Labels with runs joined: 0-4, 7; of very scattered ones the number and the range: 30 of 0-57."""
    runs: list[list[int]] = []
    for label in sorted(set(labels)):
        if runs and label == runs[-1][-1] + 1:
            runs[-1].append(label)
        else:
            runs.append([label])
    if len(runs) > MOST_RUNS:
        return f"{sum(map(len, runs)):,} of {runs[0][0]}-{runs[-1][-1]}"
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs) or "none"
