"""docs/sums.md: who learns what under each secure sum, printed from the schemes."""

from siloseal.federation.sums.config import exposures
from siloseal.federation.sums.exposure import Exposure, NoisedBy
from siloseal.reference.markdown import GENERATED, table

INTRODUCTION = f"""# Who learns what

{GENERATED}

This page is printed from the schemes themselves (`exposure` in `federation/sums/`). Plans, reports and error
messages print the same words. [protocols.md](protocols.md) says why they hold.

A job names a sum by `secure_sum.kind`, and by `schedule.tuning_sum.kind` for phase 2. Everyone learns who takes part,
and what the aggregator passes on of the result. n is the number of silos that a sum asks. t is its threshold,
`threshold` in the job: above half of n, and more than two thirds if it is not given. A *baseline* is a sum to compare
with, which protects less. Under every sum a silo that cheats can falsify the total.
"""
COLLUSION = """
## If silos help the aggregator

Silos that *may collude* may tell the aggregator all they know, and together they learn the sum of the other silos and
nothing else.
"""
SILENCE = """
## If a silo falls silent
"""
NOISE = """
## If noise is added

What the aggregator learns if a mechanism (`mechanism.kind`) noises the sum depends on who adds the noise: each silo
under `gaussian_local`; the silos together, a part each, under `ddg`, `skellam`, `binomial` and `pbm`; and the
aggregator under `gaussian_central`. Noise that silos split needs a sum that shows nobody a single part: {split}.
"""
NOISES = tuple(by for by in NoisedBy if by is not NoisedBy.NOBODY)


def sums_page() -> str:
    """The whole page."""
    found = exposures()
    parts = [
        INTRODUCTION,
        table(
            ("`kind`", "the aggregator learns", "a silo learns", "this assumes"),
            [
                (_kind(kind, one), one.aggregator_learns, one.silo_learns, one.assumes or "nothing")
                for kind, one in found.items()
            ],
        ),
        COLLUSION,
        table(
            ("`kind`", "silos that may collude", "of 10", "if more collude"),
            [
                (_kind(kind, one), one.colluders, str(one.may_collude(10)), one.if_more_collude)
                for kind, one in found.items()
            ],
        ),
        SILENCE,
        table(
            ("`kind`", "what becomes of the sum"),
            [(_kind(kind, one), one.if_a_silo_is_silent) for kind, one in found.items()],
        ),
        NOISE.format(split=", ".join(f"`{kind}`" for kind, one in found.items() if one.hides_split_noise)),
        table(
            ("noised by", "under a sum that hides", "under `plain`", "this assumes"),
            [_noised(by, found["secagg"], found["plain"]) for by in NOISES],
        ),
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def _noised(by: NoisedBy, hiding: Exposure, plain: Exposure) -> tuple[str, ...]:
    hidden, shown = hiding.noised(by), plain.noised(by)
    return by.value, hidden.aggregator_learns, shown.aggregator_learns, hidden.assumes or "nothing"


def _kind(kind: str, exposure: Exposure) -> str:
    return f"`{kind}`, a baseline" if exposure.baseline else f"`{kind}`"
