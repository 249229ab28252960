"""A page walked through as it stands: its files are saved, its commands are typed in order."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from siloseal.provisioning.addresses import free_port

FILE = r"[Ss]ave this\s+as\s+`(?P<path>[^`]+)`:\n\n```\w+\n(?P<content>.*?)```"
STEP = re.compile(rf"{FILE}|```sh\n(?P<commands>.*?)```", re.DOTALL)


def saved_files(text: str) -> dict[str, str]:
    """The files that the reader is told to save, by path."""
    return {step["path"]: step["content"] for step in STEP.finditer(text) if step["path"]}


def script(text: str) -> str:
    """One shell script that does what the reader is told to do, and fails where a command fails."""
    lines = [
        "set -eu",
        f'siloseal() {{ "{sys.executable}" -m siloseal "$@"; }}',
        f'python() {{ "{sys.executable}" "$@"; }}',
    ]
    for step in STEP.finditer(text):
        if step["path"]:
            folder = Path(step["path"]).parent
            lines.append(f"mkdir -p {folder}\ncat > {step['path']} <<'END_OF_FILE'\n{step['content']}END_OF_FILE")
        else:
            lines.append(step["commands"])
    return "\n".join(lines).replace("8443", str(free_port()))


def walk(text: str, folder: Path) -> str:
    """Run the script in this folder, to its end, and return all that it prints."""
    with (folder / "shown.txt").open("w") as shown:
        shell = subprocess.Popen(
            ["bash", "-c", script(text)], cwd=folder, stdout=shown, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = shell.wait()
        finally:
            with suppress(ProcessLookupError):  # whoever is left of its parties, if a command failed
                os.killpg(shell.pid, signal.SIGKILL)
    printed = (folder / "shown.txt").read_text()
    assert code == 0, printed
    return printed
