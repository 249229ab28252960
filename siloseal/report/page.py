"""A document as one HTML file that needs nothing beside it.

It is printed, mailed, archived and read on a phone. It loads no script, font, style or image from anywhere: pictures
are data URIs, and a content security policy in the page forbids the rest. All text goes through `escape`.
"""

import base64
from html import escape
from importlib import resources
from pathlib import Path
from typing import assert_never

from siloseal.federation.records.storage import write_atomically
from siloseal.report import wording
from siloseal.report.document import (
    Alert,
    Block,
    Chapter,
    Command,
    Document,
    Figure,
    Headline,
    Notes,
    Paragraph,
    Quotes,
    Table,
    Tiles,
)
from siloseal.report.page_tables import table_html

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
PIXELS = 88
"""Width of an inch of a chart, so that its text is nearly as large as the page's, and two narrow ones fit a line."""
LEAST_PIXELS = 64
"""Width of an inch below which a chart scrolls in its own box, because its text would be too small."""

PHONE = 5.0
"""Inches of a chart that a phone shows at once."""


def write_page(path: Path, document: Document, *, mode: int = 0o644) -> Path:
    """Write the page in one step, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page(document).encode(), mode=mode)
    return path


def page(document: Document) -> str:
    """The whole page."""
    style = resources.files("siloseal.report").joinpath("report.css").read_text(encoding="utf-8")
    body = "\n".join(filter(None, (opening(document), *map(chapter_html, document.chapters))))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(document.title)} · {escape(document.kind)}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n<footer>{escape(document.footer)}</footer>\n</main>\n</body>\n</html>\n"
    )


def opening(document: Document) -> str:
    """Title, headline numbers, warnings, how to read the rest, and a list of what follows."""
    parts = [f'<header><p class="eyebrow">{escape(document.kind)}</p><h1>{escape(document.title)}</h1></header>']
    if document.headlines:
        parts.append(f'<div class="cards">{"".join(map(card, document.headlines))}</div>')
    titles = {chapter.name: chapter.title for chapter in document.chapters}
    parts += [alert_html(one, titles.get(one.chapter, one.chapter)) for one in document.alerts]
    if document.guide:
        parts.append(f'<section class="guide"><h2>How to read this</h2><p>{escape(document.guide)}</p></section>')
    if document.contents:
        parts.append(contents(document))
    return "\n".join(parts)


def card(shown: Headline) -> str:
    """One headline number."""
    return (
        f'<div class="card{" main" if shown.main else ""}"><div class="card-title">{escape(shown.title)}</div>'
        f'<div class="card-value{" long" if len(shown.value) > 12 else ""}">{escape(shown.value)}</div>'
        f'<div class="card-note">{escape(shown.note)}</div></div>'
    )


def alert_html(shown: Alert, chapter_title: str) -> str:
    """A warning, with a link to where more is said."""
    return (
        f'<p class="warning"><strong>{escape(shown.title)}</strong> {escape(shown.text)} '
        f'See <a href="#{anchor("chapter", shown.chapter)}">{escape(chapter_title)}</a>.</p>'
    )


def contents(document: Document) -> str:
    """Every chapter, with what its figures say: the whole report on one screen."""
    if not document.chapters:
        return '<section class="contents"><h2>Contents</h2><p>No chapter was drawn.</p></section>'
    entries = "".join(
        f'<li><a href="#{anchor("chapter", chapter.name)}">{escape(chapter.title)}</a><ul>'
        + "".join(
            f'<li><a href="#{anchor("figure", one.name)}">{escape(one.message)}</a></li>' for one in chapter.figures
        )
        + "</ul></li>"
        for chapter in document.chapters
    )
    return f'<section class="contents"><h2>Contents</h2><nav><ol>{entries}</ol></nav></section>'


def anchor(kind: str, name: str) -> str:
    """A name as the page's links write it: different names, and kinds, give different ones."""
    return f"{kind}-" + "".join(
        letter if letter.isalnum() or letter == "-" else f"_{ord(letter):x}_" for letter in name
    )


def chapter_html(chapter: Chapter) -> str:
    """A titled part of the page."""
    return (
        f'<section id="{anchor("chapter", chapter.name)}"><h2>{escape(chapter.title)}</h2>'
        f'<p class="lead">{escape(chapter.lead)}</p>{"".join(map(block_html, chapter.blocks))}</section>'
    )


def block_html(block: Block) -> str:
    """A block as HTML, by its kind."""
    match block:
        case Paragraph():
            return f"<p>{escape(block.text)}</p>"
        case Table():
            return table_html(block)
        case Figure():
            return figure_html(block)
        case Tiles():
            grids = "".join(tile_html(name, png) for name, png in block.grids)
            return f'{heading(block.title)}<div class="tiles">{grids}</div>'
        case Notes():
            return f"{heading(block.title)}<ul>{''.join(f'<li>{escape(text)}</li>' for text in block.texts)}</ul>"
        case Quotes():
            return "".join(
                f"<blockquote><cite>{escape(who)}</cite>{escape(text)}</blockquote>" for who, text in block.statements
            )
        case Command():
            took = f"; it took {wording.duration(block.seconds)} of one core" if block.seconds else ""
            return f'<p class="command">Made by <code>{escape(block.line)}</code>{took}.</p>'
        case _:
            assert_never(block)


def heading(title: str) -> str:
    """The title of a block, where it has one."""
    return f"<h3>{escape(title)}</h3>" if title else ""


def figure_html(shown: Figure) -> str:
    """A chart. Its message is in the picture; the alternative text says it to those who cannot see that."""
    width = f"width:{PIXELS * shown.inches:.0f}px;min-width:{LEAST_PIXELS * shown.inches:.0f}px"
    kind = "picture" + (" wide" if shown.inches > PHONE else "") + (" of-images" if shown.of_images else "")
    names = [shown.png.name, shown.png.with_suffix(".svg").name] if shown.png else []
    files = f" Files: {', '.join(f'<code>{escape(name)}</code>' for name in names)}." if names else ""
    return (
        f'<figure class="{kind}" id="{anchor("figure", shown.name)}"><div class="scroll">'
        f'<img style="{width}" src="data:image/svg+xml;base64,{encoded(shown.svg)}" alt="{escape(shown.message)}">'
        f"</div><figcaption>{escape(shown.caption)}{files}</figcaption></figure>"
    )


def tile_html(name: str, png: bytes) -> str:
    """A grid of generated images."""
    return (
        f'<figure><img alt="Generated images, {escape(name)}" src="data:image/png;base64,{encoded(png)}">'
        f"<figcaption>{escape(name)}</figcaption></figure>"
    )


def encoded(content: bytes) -> str:
    """Bytes as a data URI holds them."""
    return base64.b64encode(content).decode()
