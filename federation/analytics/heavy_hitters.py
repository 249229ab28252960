"""Frequent short texts that nobody has listed: a tree of prefixes, one noisy release a letter.

At each level a record whose text begins with a living prefix votes for that prefix and its own next letter, or for the
end of the text there. What stays above a threshold lives on. The threshold comes from the noise alone: over all levels
together, a prefix that no record has survives in at most one query of twenty. A text that is frequent but not far above
the threshold may be missed, and what is just above it is counted a little high, because it was chosen for that.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from siloseal.federation.analytics.counting import CountQuery
from siloseal.federation.analytics.intervals import count_estimate, rare_reach
from siloseal.federation.analytics.query import Answer, Column, Counts, NoisyTotal, Progress
from siloseal.federation.config.fields import Printable
from siloseal.federation.privacy.mechanisms.integer_noise import Move

END = "\0"  # no text of a table holds it
OTHER = "\N{REPLACEMENT CHARACTER}"
"""Symbol that stands for every letter outside the alphabet."""
FALSE_PREFIX = 0.05
MOST_CELLS = 200_000


@dataclass(frozen=True)
class _Found:
    text: str
    count: float
    spread: float


class HeavyHitters(CountQuery):
    """The most frequent texts over an alphabet. All letters outside it count as one, which is shown as a box."""

    numeric: ClassVar[bool] = False
    figure: ClassVar[str] = "frequent values"
    kind: Literal["heavy_hitters"] = Field(description="frequent short texts that nobody has listed")
    alphabet: Printable = Field(
        default="abcdefghijklmnopqrstuvwxyz0123456789 -",
        min_length=1,
        max_length=500,
        description="the letters that texts are made of, each once",
    )
    letters: int = Field(
        default=8, ge=1, le=64, description="letters of a text that are looked at; each takes a release of its own"
    )
    most: int = Field(default=50, ge=1, le=10_000, description="prefixes that live on after a level, at most")
    fold_case: bool = Field(default=True, description="count upper and lower case as one")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if len(set(self.alphabet)) != len(self.alphabet):
            raise ValueError("alphabet holds a letter twice, expected each once; remove the copy")
        if self.most * self._symbols > MOST_CELLS:
            raise ValueError(
                f"most is {self.most}, with {self._symbols} letters {self.most * self._symbols} counts a release; "
                f"at most {MOST_CELLS} are allowed: lower it, or take a smaller alphabet"
            )
        return self

    @property
    def releases(self) -> int:
        return self.letters

    @property
    def move(self) -> Move:
        """One record votes for one prefix in each release; `coordinates` is the largest number of cells."""
        return Move(l2=1.0, l1=1.0, linf=1.0, coordinates=self.most * self._symbols)

    def length(self, progress: Progress) -> int:
        return len(self._cells(self._living(progress)))

    def count(self, column: Column, progress: Progress) -> Counts:
        places = {cell: place for place, cell in enumerate(self._cells(self._living(progress)))}
        level = len(progress.totals) + 1
        texts = (self._spelt(str(entry)) for entry in column)
        votes = [places.get((text + END)[:level]) for text in texts if len(text) >= level - 1]
        cells = np.array([vote for vote in votes if vote is not None], dtype=np.int64)
        return np.bincount(cells, minlength=len(places)).astype(np.int64)

    def finished(self, progress: Progress) -> bool:
        return super().finished(progress) or not self._living(progress)

    def answer(self, progress: Progress) -> Answer:
        _, found = self._replay(progress)
        ranked = sorted(found, key=lambda one: (-one.count, one.text))
        return Answer(
            query=self.title,
            estimates=tuple(count_estimate(self._shown(one.text), one.count, one.spread) for one in ranked),
            remark="" if found else "nothing is frequent enough to stand out of the noise",
        )

    def _spelt(self, text: str) -> str:
        folded = text.lower() if self.fold_case else text
        return "".join(letter if letter in self.alphabet else OTHER for letter in folded)

    @property
    def _symbols(self) -> int:
        return len(self.alphabet) + 2

    def _cells(self, living: tuple[str, ...]) -> list[str]:
        return [prefix + symbol for prefix in living for symbol in (*self.alphabet, OTHER, END)]

    def _living(self, progress: Progress) -> tuple[str, ...]:
        return self._replay(progress)[0]

    def _replay(self, progress: Progress) -> tuple[tuple[str, ...], list[_Found]]:
        """The prefixes that live after the totals so far, and the texts that are complete."""
        living: tuple[str, ...] = ("",)
        found = list[_Found]()
        for level, total in enumerate(progress.totals, start=1):
            kept = self._kept(self._cells(living), total)
            complete = kept if level == self.letters else [one for one in kept if one.text.endswith(END)]
            found += complete
            living = () if level == self.letters else tuple(one.text for one in kept if not one.text.endswith(END))
        return living, found

    def _kept(self, cells: list[str], total: NoisyTotal) -> list[_Found]:
        """The prefixes above the threshold, the most frequent ones if there are too many, in the order of the cells."""
        threshold = rare_reach(total.spread, FALSE_PREFIX / (self.letters * len(cells)))
        above = np.flatnonzero(total.values > threshold)
        chosen = sorted(above[np.argsort(-total.values[above], kind="stable")][: self.most].tolist())
        return [_Found(cells[place], float(total.values[place]), total.spread) for place in chosen]

    def _shown(self, text: str) -> str:
        """The text as it is shown. Where the letters ran out before the text did, nobody knows whether it goes on."""
        if not text.endswith(END):
            return text + "…"
        return text.removesuffix(END) or "(empty)"
