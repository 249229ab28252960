"""`siloseal provision` as a person types it."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from siloseal.cli.app import main

CONFIGS = Path(__file__).parents[3] / "configs"
Ran = subprocess.CompletedProcess[str]


@pytest.fixture
def provision(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Ran]:
    """The real entry point, in a folder with the configs that ship; one.yaml has the authority make all keys."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(CONFIGS, tmp_path / "configs")
    text = (CONFIGS / "consortium.yaml").read_text()
    (tmp_path / "configs/one.yaml").write_text(text.replace("# keys: made_by_authority\n", "keys: made_by_authority\n"))

    def call(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["siloseal", "provision", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return Ran(arguments, int(ended.value.code or 0), shown.out, shown.err)

    return call


def test_help_shows_the_short_form_and_every_command(provision: Callable[..., Ran]) -> None:
    for arguments in (["--help"], []):
        shown = provision(*arguments)
        for word in ("CONFIG [--out DIR]", "request", "renew", "revoke", "configs/consortium.yaml"):
            assert word in shown.stdout + shown.stderr
    assert "--valid-days" in provision("renew", "--help").stdout
    assert "--out" in provision("kits", "--help").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("configs/one.yaml", "--out", "kits"),
        ("--out", "kits", "configs/one.yaml"),
        ("--out=kits/", "configs/one.yaml"),
        ("kits", "configs/one.yaml", "--out", "kits"),
        ("configs/one.yaml",),
    ],
    ids=" ".join,
)
def test_the_consortiums_file_needs_no_command(
    provision: Callable[..., Ran], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    ran = provision(*arguments)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "kits/north/\n  made    identity.key, silo.key, silo.crt" in ran.stdout
    assert (tmp_path / "kits/north/silo.yaml").exists()


def test_a_consortiums_life(provision: Callable[..., Ran], tmp_path: Path) -> None:
    requested = provision("request", "--name", "east", "--out", "east")
    assert requested.returncode == 0
    fingerprint = requested.stdout.split()[-1]
    path = tmp_path / "configs/one.yaml"
    path.write_text(path.read_text().replace("# request: inbox/east.yaml ", "request: ../east/request.yaml "))
    made = provision("configs/one.yaml", "--out", "kits")
    assert fingerprint in made.stdout
    assert not (tmp_path / "kits/east/silo.key").exists()
    assert "kept    ca.key" in provision("configs/one.yaml", "--out", "kits").stdout
    renewed = provision("renew", "east", "--kits", "kits/", "--valid-days", "10")
    assert "kits/east/silo.crt" in renewed.stdout
    assert provision("revoke", "east", "--kits", "kits/").stdout.startswith("east: 2 ")
    assert provision("renew", "east", "--kits", "kits").returncode == 1


def test_what_is_waited_for_is_done_by_the_commands_as_they_are_written(
    provision: Callable[..., Ran], tmp_path: Path
) -> None:
    waiting = provision("configs/consortium.yaml", "--out", "kits")
    assert (waiting.returncode, waiting.stderr) == (0, "")
    assert not (tmp_path / "kits/north").exists()
    requests = re.findall(r"`siloseal provision (request [^`]*)` and sends (\S+); put it at (\S+)", waiting.stdout)
    assert len(requests) == 3
    (tmp_path / "configs/requests").mkdir()
    for command, sent, place in requests:
        assert provision(*command.split()).returncode == 0
        shutil.copy(sent, place)
    (again,) = re.findall(r"then run `siloseal provision ([^`]*)` again", waiting.stdout)
    ran = provision(*again.split())
    assert (ran.returncode, "waiting" in ran.stdout) == (0, False)
    assert (tmp_path / "kits/south/silo.crt").exists()
    assert not (tmp_path / "kits/south/silo.key").exists()


@pytest.mark.parametrize("name", ["north", "aggregator", "operator"])
def test_the_command_on_the_first_page_works_as_it_is_written(
    provision: Callable[..., Ran], tmp_path: Path, name: str
) -> None:
    provision("configs/one.yaml")
    page = (tmp_path / "kits" / name / "START.md").read_text()
    (command,) = re.findall(r"`siloseal provision (renew [^`]*)`", page)
    ran = provision(*command.split())
    assert (ran.returncode, ran.stderr) == (0, "")
    assert name in ran.stdout


def test_after_a_revocation_the_commands_that_are_named_work_as_they_are_written(
    provision: Callable[..., Ran], tmp_path: Path
) -> None:
    provision("configs/one.yaml", "--out", "elsewhere")
    revoked = provision("revoke", "east", "--kits", "elsewhere").stdout
    refused = provision("renew", "east", "--kits", "elsewhere").stderr
    (tmp_path / "elsewhere/east/silo.key").unlink()
    for text in (revoked, " ".join(refused.split())):
        (command,) = re.findall(r"`siloseal provision (CONFIG[^`]*)`", text)
        ran = provision(*command.replace("CONFIG", "configs/one.yaml").split())
        assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "elsewhere/east/silo.key").exists()
    assert not (tmp_path / "kits").exists()


def test_one_certificate_is_revoked_by_its_serial_number(provision: Callable[..., Ran], tmp_path: Path) -> None:
    provision("configs/one.yaml")
    (path,) = (tmp_path / "kits/authority/issued").glob("east.*.pem")
    ran = provision("revoke", "east", "--serial", path.name.split(".")[1])
    assert (ran.returncode, ran.stdout.startswith("east: 1 ")) == (0, True)
    ran = provision("revoke", "east", "--serial", "12ab")
    assert (ran.returncode, "--serial is '12ab'" in ran.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("missing.yaml", "--out", "kits"), ["missing.yaml"]),
        (("renw", "--out", "kits"), ["renw"]),
        (("configs/consortium.yaml", "--out", "configs/consortium.yaml"), ["configs/consortium.yaml", "--out"]),
        (("configs/digits.yaml", "--out", "kits"), ["digits.yaml:"]),
        (("renew", "east", "--kits", "nowhere"), ["nowhere/authority", "ca.crt"]),
        (("revoke", "east", "--kits", "nowhere"), ["nowhere/authority", "ca.crt"]),
        (("renew", "east"), ["kits/authority", "ca.crt"]),
        (("renew", "east", "--kits", "kits", "--valid-days", "0"), ["--valid-days"]),
        (("request", "--name", "a b", "--out", "x"), ["--name is 'a b'"]),
        (("request", "--name", "east", "--out", "configs/consortium.yaml"), ["configs/consortium.yaml", "--out"]),
    ],
    ids=lambda value: " ".join(value)[:40],
)
def test_bad_input_gets_a_sentence_and_no_traceback(
    provision: Callable[..., Ran], arguments: tuple[str, ...], words: list[str]
) -> None:
    ran = provision(*arguments)
    assert ran.returncode in (1, 2)
    assert "Traceback" not in ran.stderr
    text = " ".join(ran.stderr.split())
    for word in words:
        assert word in text
    assert ran.stdout == ""
