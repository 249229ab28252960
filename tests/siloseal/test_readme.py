"""What the README shows is what happens."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def test_the_example_in_python_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(code, {})  # noqa: S102 (our own text)
    assert capsys.readouterr().out == "[2. 2. 2.]\n"
    assert "# [2. 2. 2.]" in code
