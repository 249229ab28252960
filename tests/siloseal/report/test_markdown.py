"""A document as Markdown: the same things as the page, as text that nothing in it can turn into markup."""

from pathlib import Path

import pytest

from siloseal.report.document import Block, Chapter, Command, Document, Notes
from siloseal.report.markdown import write_markdown
from tests.siloseal.report.documents import full_of


def written(folder: Path, *blocks: Block, lead: str = "lead") -> str:
    document = Document("kind", "Title", (Chapter("c", "t", lead, blocks),))
    return write_markdown(folder / "report.md", document).read_text("utf-8")


def test_words_are_text_and_never_markup(tmp_path: Path) -> None:
    evil = r"<b> | `x` [y](z) \| *s* _u_ ~t~ $m$ &amp; !" + "\n# w"
    text = write_markdown(tmp_path / "report.md", full_of(evil, tmp_path / "figures" / "one.png")).read_text("utf-8")
    harmless = r"\<b\> \| \`x\` \[y\](z) \\\| \*s\* \_u\_ \~t\~ \$m\$ \&amp; \! \# w"
    assert text.count(harmless) == 24
    code = "    " + evil.replace("\n", " ")
    assert "<b>" not in text.replace(code, "")
    assert text.count(f"\n\n{code}\n") == 1
    assert f"| {harmless} | {harmless} |\n| --- | ---: |\n| {harmless} | {harmless} |" in text
    assert f"![{harmless}](figures/one.png)" in text


@pytest.mark.parametrize(
    ("words", "shown"), [("- x", r"\- x"), ("2. x", r"2\. x"), ("2.5 dB", "2.5 dB"), ("+ y", r"\+ y")]
)
def test_words_that_look_like_a_list_are_none(tmp_path: Path, words: str, shown: str) -> None:
    assert written(tmp_path, Notes((words,)), lead=words).splitlines()[4:] == [shown, "", f"- {shown}"]


def test_a_command_is_code_with_its_time(tmp_path: Path) -> None:
    lines = written(tmp_path, Command("siloseal compare x.yaml", seconds=75)).splitlines()
    assert lines[-3:] == ["Made by this command, in 1 min 15 s of one core:", "", "    siloseal compare x.yaml"]
