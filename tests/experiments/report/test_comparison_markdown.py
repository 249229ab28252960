"""The comparison's report as Markdown: the same things as the page, and pictures that are there."""

import re

from siloseal.experiments.report.chapter import ChapterKind, comparison_report
from siloseal.report.document import Chapter, Command
from siloseal.report.markdown import write_markdown


def test_every_figure_table_and_command_is_there(chapters: dict[ChapterKind, Chapter]) -> None:
    pictures = [figure.png for chapter in chapters.values() for figure in chapter.figures if figure.png is not None]
    folder = pictures[0].parent
    document = comparison_report(list(chapters.values()))
    text = write_markdown(folder.parent / "report.md", document).read_text(encoding="utf-8")
    shown = re.findall(r"^!\[.*\]\((.*)\)$", text, flags=re.MULTILINE)
    assert shown == [f"{folder.name}/{picture.name}" for picture in pictures]
    assert all((folder.parent / path).is_file() for path in shown)
    commands = [block.line for chapter in chapters.values() for block in chapter.blocks if isinstance(block, Command)]
    assert re.findall(r"^    (.*)$", text, flags=re.MULTILINE) == commands
    tables = [table for chapter in chapters.values() for table in chapter.tables]
    assert len(re.findall(r"^\| (?!---)", text, flags=re.MULTILINE)) == sum(1 + len(table.rows) for table in tables)
