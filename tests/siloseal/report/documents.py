"""A document with everything in it that a document can hold."""

from pathlib import Path

from siloseal.report import document as parts


def full_of(text: str, png: Path) -> parts.Document:
    """Every kind of block, with this text in every place that takes one. One of its figures is in this file."""
    blocks = (
        parts.Paragraph(text),
        parts.Table(text, (text, text), ((text, parts.Cell(text, tone="bad", filled=2.0)),), numbers=(1,), note=text),
        parts.Figure(text, text, text, b"<svg/>", 4.8, png),
        parts.Figure(text, text, text, b"<svg/>", 4.8),
        parts.Tiles(text, ((text, b"png"),)),
        parts.Notes((text,), text),
        parts.Quotes(((text, text),)),
        parts.Command(text),
    )
    return parts.Document(
        text,
        text,
        (parts.Chapter(text, text, text, blocks),),
        (parts.Headline(text, text, text),),
        (parts.Alert(text, text, text),),
        text,
        contents=True,
        footer=text,
    )
