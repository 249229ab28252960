"""One secure sum as a measurement: the real protocol among real sides, every message counted and every side timed."""

from pathlib import Path
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from siloseal.experiments.comparison.memory import forget_peak, peak_bytes
from siloseal.experiments.comparison.rows import Row
from siloseal.federation.config.section import Section
from siloseal.federation.errors import DomainError, ProtocolError, RunError
from siloseal.federation.sums.config import SecureSumConfig
from siloseal.federation.sums.exchanges import InProcessSum
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.secure_sum import SecureSum, Sum
from siloseal.federation.sums.session import RealDomain, Vector

BOUND = 8.0
SHORT = 100
"""Number of entries that is enough to see whether a sum survives a drop-out."""

Vectors = dict[str, Vector]


class SumMeasurement(Section):
    """What a sum of random vectors costs each party, how exact it is, and whether it survives a silent silo."""

    kind: Literal["sum"]
    secure_sum: SecureSumConfig = Field(description="the sum")
    silos: int = Field(default=5, ge=2, le=1000, description="who take part")
    length: int = Field(default=10_000, ge=1, le=10_000_000, description="entries of a vector")
    dropouts: bool = Field(default=True, description="also try a silo that falls silent before, and after, its upload")
    seed: int = Field(default=0, ge=0, description="of the vectors; never of keys, masks or noise")

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        require_admitted(self.secure_sum, self.length, self.silos)
        return self

    def run(self, folder: Path) -> list[Row]:
        """Measure the sum with everyone, then with a silent silo."""
        scheme, rng = self.secure_sum.build(), np.random.default_rng(self.seed)
        names = [f"silo{number:03}" for number in range(self.silos)]
        vectors: Vectors = {name: rng.uniform(-BOUND, BOUND, self.length) for name in names}
        forget_peak()
        before = peak_bytes()
        total = sum_in_process(scheme, vectors, domain=RealDomain(self.length, BOUND))
        rows = [
            *_rows(total),
            Row(measure="peak_bytes", value=peak_bytes() - before, unit="B"),
            Row(measure="error", value=_error(total, vectors)),
            Row(measure="parameters", value=self.length),
        ]
        if self.dropouts:
            upload = _upload_round(total)
            for name, leaves in (("dropout_before_upload", upload), ("dropout_after_upload", upload + 1)):
                rows.append(Row(measure=name, value=float(_survives(scheme, vectors, leaves))))
        return rows


def require_admitted(config: SecureSumConfig, length: int, silos: int) -> None:
    """Raise `ValueError` for a sum that this many silos cannot have, before a grid begins."""
    try:
        config.build().admit(RealDomain(length, BOUND), silos)
    except DomainError as error:
        raise ValueError(f"secure_sum.kind is {config.kind}, but {error}") from error


def _survives(scheme: SecureSum, vectors: Vectors, leaves: int) -> bool:
    """Whether the sum comes out although the last silo answers nothing from this round on."""
    short = {name: vector[:SHORT] for name, vector in vectors.items()}
    domain = RealDomain(len(next(iter(short.values()))), BOUND)
    fewest, drop = scheme.fewest(len(short)), {next(reversed(short)): leaves}
    try:
        total = sum_in_process(scheme, short, domain=domain, quorum=fewest, drop=drop)
    except ProtocolError:
        return False
    if _error(total, short) > total.error_bound:
        raise RunError(f"{scheme.name} gave a wrong sum after a drop-out; that is a fault of the program: report it")
    return True


def _error(total: Sum, vectors: Vectors) -> float:
    """Return the largest error of an entry of the sum of those who contributed."""
    exact = np.sum([vectors[name] for name in total.contributors], axis=0)
    return float(np.abs(total.total - exact).max())


def _upload_round(total: InProcessSum) -> int:
    """Return the round in which most bytes leave the silos."""
    return max(
        range(1, total.rounds + 1),
        key=lambda number: sum(one.sent_bytes for one in total.exchanges if one.round == number),
    )


def _rows(total: InProcessSum) -> list[Row]:
    """Return rows of bytes by round and silo, and of seconds by party."""
    rows = [Row(measure="aggregator_seconds", value=total.aggregator_seconds, unit="s")]
    for number in range(total.rounds + 1):
        there, stage = [one for one in total.exchanges if one.round == number], f"round {number}"
        # Of the mean silo, whoever acts in the round: where one works for all, the others do not.
        seconds = sum(one.seconds for one in there) / len(total.sent)
        rows.append(Row(measure="silo_seconds", value=seconds, unit="s", stage=stage))
        for one in there if number else ():
            rows.append(Row(measure="sent_bytes", value=one.sent_bytes, unit="B", stage=stage, silo=one.silo))
            rows.append(Row(measure="received_bytes", value=one.received_bytes, unit="B", stage=stage, silo=one.silo))
    return rows
