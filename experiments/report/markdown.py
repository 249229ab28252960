"""The report once more as Markdown, for a repository's pages: pictures beside it, tables as text."""

import re
from collections.abc import Sequence
from pathlib import Path

from siloseal.experiments.report.chapter import TITLE, Chapter, Table
from siloseal.federation.records.storage import write_atomically
from siloseal.report import wording

_MARKUP = re.compile(r"([\\`*_\[\]<>|#~$&!])")
_LISTED = re.compile(r"^([-+=]|\d+(?=[.)] ))")
"""What would begin a list, or a heading's underline."""


def write_markdown(out: Path, chapters: Sequence[Chapter], *, title: str = TITLE) -> Path:
    """Writes report.md, which shows `figures/NAME.png` beside it."""
    path = out / "report.md"
    whole = "\n\n".join([f"# {title}", *(_chapter(chapter, out) for chapter in chapters)])
    write_atomically(path, f"{whole}\n".encode())
    return path


def _chapter(chapter: Chapter, out: Path) -> str:
    parts = [f"## {_text(chapter.title)}", _paragraph(chapter.lead)]
    if chapter.command:
        took = f", in {wording.duration(chapter.seconds)} of one core" if chapter.seconds else ""
        parts += [f"Made by this command{took}:", f"    {chapter.command}"]
    for figure in chapter.figures:
        parts += [f"![{_text(figure.message)}]({figure.png.relative_to(out).as_posix()})", _paragraph(figure.caption)]
    parts += [_table(table) for table in chapter.tables]
    if chapter.notes:
        parts.append("\n".join(f"- {_paragraph(note)}" for note in chapter.notes))
    return "\n\n".join(parts)


def _table(table: Table) -> str:
    rules = ["---:" if index in table.numbers else "---" for index in range(len(table.columns))]
    lines = [[_text(cell) for cell in row] for row in (table.columns, *table.rows)]
    lines.insert(1, rules)
    return f"### {_text(table.caption)}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(words: str) -> str:
    """Words that are not ours, a cell's name say, are text and never markup."""
    return _MARKUP.sub(r"\\\1", " ".join(words.split()))


def _paragraph(words: str) -> str:
    """Text at the beginning of a line."""
    return _LISTED.sub(lambda found: f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}", _text(words))
