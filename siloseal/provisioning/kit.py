"""One folder of the kits, and what a run made, renewed and kept in it."""

from collections.abc import Callable
from pathlib import Path

from siloseal.federation.records.storage import make_folder, write_atomically


class Kit:
    """A party's folder, which only its owner may enter.

    Two kinds of files: those that `write` brings up to date, and those that `write_once` never touches again, because
    they are keys or because their owner may have edited them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made, self.updated, self.kept, self.notes = list[str](), list[str](), list[str](), list[str]()
        make_folder(folder, mode=0o700)
        folder.chmod(0o700)

    def write(self, name: str, content: bytes) -> None:
        """Write a file, so that it has this content afterwards."""
        path = self.folder / name
        if not path.exists():
            self.made.append(name)
        elif path.read_bytes() != content:
            self.updated.append(name)
        else:
            self.kept.append(name)
            return
        write_atomically(path, content)

    def write_once(self, name: str, content: Callable[[], bytes], *, mode: int = 0o644) -> None:
        """Write a file unless it is there: it keeps what it had."""
        path = self.folder / name
        if path.exists():
            self.kept.append(name)
            return
        write_atomically(path, content(), mode=mode)
        self.made.append(name)

    def lines(self) -> list[str]:
        """The lines that tell a person what was done."""
        done = {"made": self.made, "updated": self.updated, "kept": self.kept}
        files = [f"  {what:8}{', '.join(names)}" for what, names in done.items() if names]
        return [f"{self.folder}/", *files, *(f"  note    {note}" for note in self.notes)]
