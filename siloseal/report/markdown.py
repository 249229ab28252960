"""A document as Markdown, for a repository's pages: pictures beside it, tables as text."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import assert_never

from siloseal.federation.records.storage import write_atomically
from siloseal.report import wording
from siloseal.report.document import (
    Block,
    Chapter,
    Command,
    Document,
    Figure,
    Notes,
    Paragraph,
    Quotes,
    Table,
    Tiles,
    text_of,
)

_MARKUP = re.compile(r"([\\`*_\[\]<>|#~$&!])")
_LISTED = re.compile(r"^([-+=]|\d+(?=[.)] ))")
"""Pattern of what would begin a list, or a heading's underline."""


def write_markdown(path: Path, document: Document) -> Path:
    """Write the file, which shows the PNG of each figure by its path from there."""
    write_atomically(path, (markdown(document, path.parent) + "\n").encode())
    return path


def markdown(document: Document, folder: Path) -> str:
    """The whole document; pictures are named by their path from `folder`."""
    parts = [f"# {_text(document.title)}"]
    parts += [f"**{_text(one.title)}** {_text(one.text)}" for one in document.alerts]
    if document.headlines:
        rows = tuple((one.title, one.value, one.note) for one in document.headlines)
        parts.append(_table(Table("", ("number", "value", "note"), rows)))
    parts += [_paragraph(document.guide)] if document.guide else []
    return "\n\n".join([*parts, *(_chapter(chapter, folder) for chapter in document.chapters)])


def _chapter(chapter: Chapter, folder: Path) -> str:
    parts = [part for block in chapter.blocks for part in _block(block, folder)]
    return "\n\n".join([f"## {_text(chapter.title)}", _paragraph(chapter.lead), *parts])


def _block(block: Block, folder: Path) -> Iterator[str]:
    """The paragraphs of a block."""
    match block:
        case Paragraph():
            yield _paragraph(block.text)
        case Table():
            yield _table(block)
        case Figure():
            if block.png is not None:
                yield f"![{_text(block.message)}]({block.png.relative_to(folder).as_posix()})"
            else:
                yield f"**{_text(block.message)}**"
            yield _paragraph(block.caption)
        case Tiles():
            yield f"Generated images of {_text(wording.listed([name for name, _ in block.grids]))} are on the page."
        case Notes():
            yield "\n".join(f"- {_paragraph(text)}" for text in block.texts)
        case Quotes():
            yield "\n\n".join(f"> **{_text(who)}** {_text(text)}" for who, text in block.statements)
        case Command():
            took = f", in {wording.duration(block.seconds)} of one core" if block.seconds else ""
            yield f"Made by this command{took}:"
            yield "    " + block.line.replace("\n", " ")
        case _:
            assert_never(block)


def _table(table: Table) -> str:
    columns, *rows = [[_text(text_of(cell)) for cell in row] for row in (table.columns, *table.rows)]
    above = [f"### {_text(table.caption)}"] if table.caption else []
    above += [_paragraph(table.note)] if table.note else []
    return "\n\n".join([*above, grid(columns, rows, numbers=table.numbers)])


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Collection[int] = ()) -> str:
    """A table of cells that are Markdown already; the columns of numbers stand at the right."""
    rules = ["---:" if index in numbers else "---" for index in range(len(columns))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (columns, rules, *rows))


def _text(words: str) -> str:
    """Words that are not ours, such as a cell's name, as text and never as markup."""
    return _MARKUP.sub(r"\\\1", " ".join(words.split()))


def _paragraph(words: str) -> str:
    """Text at the beginning of a line."""
    return _LISTED.sub(lambda found: f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}", _text(words))
