"""What a digest covers, and what is refused because none would."""

import hashlib
import importlib.machinery
from pathlib import Path

import pytest

from siloseal.federation.errors import ConfigError
from siloseal.models.user_code.source import file_digest, source_of

from .conftest import Write


def digest_of_package(files: dict[str, bytes]) -> str:
    """The digest as the module's docstring has it, written once more."""
    stream = b"siloseal package\0"
    for name, content in sorted(files.items()):
        stream += len(name).to_bytes(8, "little") + name.encode() + len(content).to_bytes(8, "little") + content
    return f"sha256:{hashlib.sha256(stream).hexdigest()}"


class TestTheDigestOfAFile:
    def test_is_that_of_its_bytes_as_sha256sum_prints_it(self, home: Path) -> None:
        (home / "own_net.py").write_bytes(b"x = 1\r\n")
        found = source_of("own_net:build")
        expected = "sha256:" + hashlib.sha256(b"x = 1\r\n").hexdigest()
        assert (found.digest, found.folder, found.is_package) == (expected, home.resolve(), False)
        assert file_digest(home / "own_net.py") == expected

    def test_does_not_change_with_the_files_beside_it(self, write: Write) -> None:
        write(own_net="x = 1\n")
        before = source_of("own_net:build").digest
        write(another="y = 2\n")
        assert source_of("own_net:build").digest == before


def test_a_module_inside_of_a_package_that_bears_the_name_of_a_file_beside_it_is_the_packages_own(write: Write) -> None:
    write(
        own_lab__in____init__="", own_lab__in__net="from .layers import x\n", own_lab__in__layers="x = 1\n", layers=""
    )
    assert "own_lab/layers.py" in source_of("own_lab.net:build").files


FILES = {"own_lab/__init__.py": b"", "own_lab/net.py": b"x = 1\n", "own_lab/deep/layers.py": b"y = 2\n"}


class TestTheDigestOfAPackage:
    def put(self, home: Path, files: dict[str, bytes]) -> None:
        for name, content in files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(content)

    def test_covers_names_and_contents_of_all_its_python_files(self, home: Path) -> None:
        self.put(home, {**FILES, "own_lab/notes.txt": b"not code"})
        assert source_of("own_lab.net:build").digest == digest_of_package(FILES)
        assert source_of("own_lab.deep.layers:y").digest == digest_of_package(FILES)

    @pytest.mark.parametrize(
        "changed",
        [
            {"own_lab/deep/layers.py": b"y = 3\n"},
            {"own_lab/new.py": b""},
            {"own_lab/net.py": b"x = 1\ny = 2\n", "own_lab/deep/layers.py": b""},
        ],
    )
    def test_changes_with_each_of_them(self, home: Path, changed: dict[str, bytes]) -> None:
        self.put(home, FILES)
        before = source_of("own_lab.net:build").digest
        self.put(home, changed)
        assert source_of("own_lab.net:build").digest != before

    def test_tells_one_file_cut_in_two_from_another_cut(self, home: Path) -> None:
        """Lengths come first, so that no byte can move from a name to a content or to the next file."""
        self.put(home, {"own_lab/__init__.py": b"", "own_lab/a.py": b"1\n2\n", "own_lab/b.py": b"3\n"})
        before = source_of("own_lab:x").digest
        self.put(home, {"own_lab/a.py": b"1\n", "own_lab/b.py": b"2\n3\n"})
        assert source_of("own_lab:x").digest != before

    def test_follows_a_link_to_a_folder_and_ends(self, home: Path) -> None:
        self.put(home, {"own_lab/__init__.py": b"", "elsewhere/far.py": b"z = 1\n"})
        (home / "own_lab" / "linked").symlink_to(home / "elsewhere")
        (home / "own_lab" / "again").symlink_to(home / "own_lab")
        assert set(source_of("own_lab:x").files) == {"own_lab/__init__.py", "own_lab/linked/far.py"}


class TestIsRefused:
    @pytest.mark.parametrize(
        "target",
        ["os:system", "subprocess:run", "keyword:iskeyword", "os.path:join", "siloseal:simulate", "__main__:x"],
    )
    def test_what_is_not_the_users_own(self, home: Path, target: str) -> None:
        (home / "os.py").write_text("def system(*_): ...\n")
        with pytest.raises(ConfigError):
            source_of(target)

    @pytest.mark.parametrize("text", ["import beside\n", "def f():\n    from beside.deep import x\n"])
    @pytest.mark.parametrize("beside", ["beside", "beside__in__deep", "beside__in__deep__in__x"])
    def test_a_file_that_imports_one_beside_it(self, write: Write, text: str, beside: str) -> None:
        write(own_net=text, **{beside: "x = 1\n"})
        with pytest.raises(ConfigError, match="__init__"):
            source_of("own_net:build")

    @pytest.mark.parametrize("suffix", [".pyc", importlib.machinery.EXTENSION_SUFFIXES[0]])
    @pytest.mark.parametrize("stem", ["beside", "beside/deep", "beside/deep/x"])
    def test_a_file_that_imports_a_compiled_one_beside_it(self, write: Write, stem: str, suffix: str) -> None:
        compiled = write(own_net="import beside\n") / f"{stem}{suffix}"
        compiled.parent.mkdir(parents=True, exist_ok=True)
        compiled.touch()
        with pytest.raises(ConfigError):
            source_of("own_net:build")

    def test_a_package_that_imports_a_file_beside_it(self, write: Write) -> None:
        write(own_lab__in____init__="", own_lab__in__net="import beside\n", beside="")
        with pytest.raises(ConfigError, match="beside"):
            source_of("own_lab.net:build")

    def test_a_compiled_module_beside_the_source_that_python_would_prefer(self, write: Write) -> None:
        home = write(own_lab__in____init__="", own_lab__in__net="x = 1\n")
        (home / "own_lab" / f"net{importlib.machinery.EXTENSION_SUFFIXES[0]}").touch()
        with pytest.raises(ConfigError, match="net"):
            source_of("own_lab.net:build")

    def test_a_module_that_is_nothing_but_compiled(self, home: Path) -> None:
        (home / f"own_net{importlib.machinery.EXTENSION_SUFFIXES[0]}").touch()
        with pytest.raises(ConfigError, match="own_net"):
            source_of("own_net:build")

    def test_a_module_that_its_package_does_not_have(self, write: Write) -> None:
        write(own_lab__in____init__="")
        with pytest.raises(ConfigError, match="own_lab"):
            source_of("own_lab.net:build")


def test_files_beside_it_that_it_does_not_import_and_installed_libraries_are_no_matter(write: Write) -> None:
    home = write(own_net="import torch, siloseal\nfrom . import nothing\n", beside="")
    (home / "torch" / "saved").mkdir(parents=True)  # a folder of data that has a library's name
    (home / "torch" / "saved" / "weights.npz").touch()
    assert source_of("own_net:build").files.keys() == {"own_net.py"}
    assert source_of("torchvision.models:resnet18").is_package
