"""The report as Markdown: the same things as the page, and pictures that are there."""

import re
from pathlib import Path

import pytest

from siloseal.experiments.report.chapter import Chapter, ChapterKind, Figure, Table
from siloseal.experiments.report.markdown import write_markdown


def test_every_figure_table_and_command_is_there(tmp_path: Path, chapters: dict[ChapterKind, Chapter]) -> None:
    folder = next(figure for chapter in chapters.values() for figure in chapter.figures).png.parent
    text = write_markdown(folder.parent, list(chapters.values())).read_text(encoding="utf-8")
    figures = [figure for chapter in chapters.values() for figure in chapter.figures]
    shown = re.findall(r"^!\[.*\]\((.*)\)$", text, flags=re.MULTILINE)
    assert shown == [f"{folder.name}/{figure.png.name}" for figure in figures]
    assert all((folder.parent / path).is_file() for path in shown)
    assert re.findall(r"^    (.*)$", text, flags=re.MULTILINE) == [chapter.command for chapter in chapters.values()]
    rows = [row for chapter in chapters.values() for table in chapter.tables for row in table.rows]
    assert len(re.findall(r"^\| (?!---)", text, flags=re.MULTILINE)) == len(rows) + sum(
        len(chapter.tables) for chapter in chapters.values()
    )


def test_words_are_text_and_never_markup(tmp_path: Path) -> None:
    evil = r"<b> | `x` [y](z) \| *s* _u_ ~t~ $m$ &amp; !" + "\n# w"
    picture = tmp_path / "figures" / "one.png"
    figure = Figure("one", evil, evil, picture, picture)
    table = Table(evil, (evil, "n"), ((evil, "1"),), numbers=(1,))
    text = write_markdown(tmp_path, [Chapter("c", evil, evil, (figure,), (table,), (evil,))]).read_text("utf-8")
    harmless = r"\<b\> \| \`x\` \[y\](z) \\\| \*s\* \_u\_ \~t\~ \$m\$ \&amp; \! \# w"
    assert text.count(harmless) == 8
    assert f"| {harmless} | n |\n| --- | ---: |\n| {harmless} | 1 |" in text


@pytest.mark.parametrize(
    ("words", "written"), [("- x", r"\- x"), ("2. x", r"2\. x"), ("2.5 dB", "2.5 dB"), ("+ y", r"\+ y")]
)
def test_words_that_look_like_a_list_are_none(tmp_path: Path, words: str, written: str) -> None:
    text = write_markdown(tmp_path, [Chapter("c", "t", words, (), (), (words,))]).read_text("utf-8")
    assert text.splitlines()[4:] == [written, "", f"- {written}"]
