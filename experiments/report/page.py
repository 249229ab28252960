"""The report of a comparison: one HTML file that needs nothing beside it, in the style of a run's report."""

import base64
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path

from siloseal.experiments.report.chapter import TITLE, Chapter, Figure, Table
from siloseal.federation.records.storage import write_atomically
from siloseal.report import wording
from siloseal.report.markup import section, table
from siloseal.report.run_report import POLICY

STYLE = """
.picture { margin: 0 0 28px; }
.picture img { max-width: 820px; padding: 14px; background: #ffffff; border: 1px solid var(--line);
  border-radius: 8px; image-rendering: auto; }
.picture figcaption { max-width: 96ch; }
.picture code { white-space: nowrap; }
.contents ol { margin: 8px 0 0; padding-left: 22px; }
.contents ul { margin: 2px 0 6px; max-width: 110ch; color: var(--soft); font-size: 14px; }
.contents li { margin-top: 4px; }
.contents ul a:not(:hover) { text-decoration: none; }
.scroll + h3, .notes { margin-top: 28px; }
.scroll td:not(.number):not(:first-child) { white-space: normal; min-width: 12ch; }
.command { margin-top: 20px; font-size: 13px; color: var(--soft); }
@media print { .picture { break-inside: avoid; } section { break-inside: auto; } }
"""
"""Beside siloseal/report/report.css: pictures lie on white in both colour schemes, for their ink is dark."""


def write_report(out: Path, chapters: Sequence[Chapter]) -> Path:
    """Writes report.html with every chapter's pictures inside."""
    path = out / "report.html"
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page(chapters).encode())
    return path


def page(chapters: Sequence[Chapter]) -> str:
    """The whole document."""
    style = resources.files("siloseal.report").joinpath("report.css").read_text(encoding="utf-8") + STYLE
    body = "\n".join([contents(chapters), *map(chapter_section, chapters)])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>SiloSeal comparison</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f'<header><p class="eyebrow">SiloSeal comparison</p><h1>{TITLE}</h1></header>\n'
        f"{body}\n<footer>SiloSeal</footer>\n</main>\n</body>\n</html>\n"
    )


def contents(chapters: Sequence[Chapter]) -> str:
    """Every chapter, with what its pictures say: the whole report on one screen."""
    if not chapters:
        return '<section class="contents"><h2>Contents</h2><p>No chapter was drawn.</p></section>'
    entries = "".join(
        f'<li><a href="#{anchor("chapter", chapter.name)}">{escape(chapter.title)}</a><ul>'
        + "".join(
            f'<li><a href="#{anchor("figure", one.name)}">{escape(one.message)}</a></li>' for one in chapter.figures
        )
        + "</ul></li>"
        for chapter in chapters
    )
    return f'<section class="contents"><h2>Contents</h2><nav><ol>{entries}</ol></nav></section>'


def anchor(kind: str, name: str) -> str:
    """A name as the page's links write it: of different names, and kinds, different ones."""
    return f"{kind}-" + "".join(
        letter if letter.isalnum() or letter == "-" else f"_{ord(letter):x}_" for letter in name
    )


def chapter_section(chapter: Chapter) -> str:
    """Pictures, tables, notes, and the command that repeats them."""
    body = "".join(map(figure, chapter.figures)) + "".join(map(captioned, chapter.tables))
    if chapter.notes:
        listed = "".join(f"<li>{escape(note)}</li>" for note in chapter.notes)
        body += f'<div class="notes"><h3>Limits, and how to read it</h3><ul>{listed}</ul></div>'
    if chapter.command:
        took = f"; its cells took {wording.duration(chapter.seconds)} of one core" if chapter.seconds else ""
        body += f'<p class="command">Made by <code>{escape(chapter.command)}</code>{took}.</p>'
    return section(anchor("chapter", chapter.name), escape(chapter.title), chapter.lead, body)


def figure(shown: Figure) -> str:
    """Its message is in the picture; here it is for those who cannot see that."""
    encoded = base64.b64encode(shown.svg.read_bytes()).decode()
    files = f"<code>{escape(shown.png.name)}</code>, <code>{escape(shown.svg.name)}</code>"
    return (
        f'<figure class="picture" id="{anchor("figure", shown.name)}">'
        f'<img src="data:image/svg+xml;base64,{encoded}" alt="{escape(shown.message)}">'
        f"<figcaption>{escape(shown.caption)} Files: {files}.</figcaption></figure>"
    )


def captioned(shown: Table) -> str:
    """A table under its caption."""
    rows = [[escape(content) for content in row] for row in shown.rows]
    return f"<h3>{escape(shown.caption)}</h3>{table(shown.columns, rows, numbers=shown.numbers)}"
