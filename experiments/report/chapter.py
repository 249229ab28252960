"""The report of a comparison: which chapters there are, and how they become one document."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from siloseal.report.document import Block, Chapter, Document, Notes

ChapterKind = Literal[
    "overview",
    "optimizers",
    "sums",
    "noise",
    "distributed-dp",
    "fedavg",
    "traffic",
    "silos",
    "starts",
    "inversion",
    "audit",
    "cheating",
]
"""Kind of a chapter: `overview` suits any comparison, the others know what they compare."""

TITLE = "What was compared, and what came out"
LIMITS = "Limits, and how to read it"


def comparison_report(chapters: Sequence[Chapter], *, title: str = TITLE) -> Document:
    """Return all chapters as one report, which opens with what their figures say."""
    return Document("SiloSeal comparison", title, tuple(chapters), contents=True, footer="SiloSeal")


def with_notes(chapter: Chapter, *, before: Sequence[str] = (), after: Sequence[str] = ()) -> Chapter:
    """Return the chapter with more notes around its own."""
    others: list[Block] = [block for block in chapter.blocks if not isinstance(block, Notes)]
    notes = Notes((*before, *chapter.notes, *after), LIMITS)
    return replace(chapter, blocks=(*others, *([notes] if notes.texts else [])))
