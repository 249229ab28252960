"""A second run adds what is new, and no owner loses anything by it; and what a consortium's file may not say."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from siloseal.federation.errors import CertificateError, ConfigError, RunError
from siloseal.federation.records.roster import read_roster
from siloseal.federation.records.storage import locked
from siloseal.federation.transport.pki.authority import Authority
from siloseal.federation.transport.pki.certificates import Role, read_private_key, require_pair
from siloseal.federation.transport.pki.keys import new_private_key, public_key_of
from siloseal.provisioning.kits import provision
from siloseal.provisioning.renewal import renew, revoke

SILOS = {"north", "east", "south"}


def contents(kits: Path) -> dict[str, bytes]:
    return {str(path.relative_to(kits)): path.read_bytes() for path in kits.rglob("*") if path.is_file()}


def test_nothing_changes_if_nothing_is_new(kits: Path, again: Callable[[], str]) -> None:
    before = contents(kits)
    said = again()
    assert contents(kits) == before
    assert ("  made " in said, "  updated " in said, "kept    aggregator.key" in said) == (False, False, True)


def test_what_owners_edited_stays_and_what_they_lost_comes_back(kits: Path, again: Callable[[], str]) -> None:
    edited = [kits / "north/silo.yaml", kits / "aggregator/aggregator.yaml", kits / "operator/operator.yaml"]
    for path in edited:
        path.write_text("mine: now\n")
    (kits / "south" / "START.md").unlink()
    (kits / "south" / "silo.crt").unlink()
    said = again()
    assert "  made    silo.crt, START.md" in said
    assert said.count("was kept, but cannot be used: ") == 3
    assert {path.read_text() for path in edited} == {"mine: now\n"}
    require_pair((kits / "south/silo.crt").read_bytes(), read_private_key(kits / "south/silo.key"))
    assert len(Authority.load(kits / "authority").issued("south")) == 1


def test_a_new_silo_joins_and_the_others_get_the_roster_only(
    kits: Path, add_silo: Callable[..., None], again: Callable[[], str]
) -> None:
    before = contents(kits)
    add_silo("west")
    said = again()
    after = contents(kits)
    changed = {path for path in before if after[path] != before[path]}
    rosters = {f"{name}/roster.yaml" for name in (*SILOS, "aggregator", "authority")}
    assert changed == {*rosters, "aggregator/job.yaml", "aggregator/START.md"}
    assert set(read_roster(kits / "north/roster.yaml").keys) == {*SILOS, "west"}
    assert "roster.yaml has changed" in said
    assert {path for path in after if path.startswith("west/")} == {
        path.replace("north/", "west/") for path in before if path.startswith("north/")
    }


def test_keys_that_were_handed_over_are_not_made_again(kits: Path, again: Callable[[], str]) -> None:
    roster = (kits / "east/roster.yaml").read_bytes()
    keys = [kits / "east/silo.key", kits / "east/identity.key", kits / "aggregator/aggregator.key"]
    for path in keys:
        path.unlink()
    said = again()
    assert not any(path.exists() for path in keys)
    assert (kits / "east/roster.yaml").read_bytes() == roster
    assert "silo.key is not here" in said
    assert "identity.key is not here" in said
    assert "revoke aggregator" in said
    assert len(Authority.load(kits / "authority").issued()) == 5


def test_a_run_killed_between_a_key_and_its_certificate_continues(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Authority, "issue", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            provision(config, tmp_path / "kits")
    before = contents(tmp_path / "kits")
    assert "aggregator/aggregator.key" in before
    provision(config, tmp_path / "kits")
    after = contents(tmp_path / "kits")
    assert {path: after[path] for path in before} == before
    assert len(after) > len(before)


def test_another_host_gives_a_new_certificate_for_the_same_key(
    kits: Path, config: Path, again: Callable[[], str]
) -> None:
    key = (kits / "aggregator/aggregator.key").read_bytes()
    config.write_text(config.read_text().replace("host: localhost", "host: a.example.org"))
    assert "updated aggregator.crt" in again()
    require_pair((kits / "aggregator/aggregator.crt").read_bytes(), key)
    authority = Authority.load(kits / "authority")
    assert {one.hosts for one in authority.issued("aggregator")} == {("localhost",), ("a.example.org",)}


def test_files_that_are_kept_with_another_address_are_named(kits: Path, config: Path, again: Callable[[], str]) -> None:
    assert "was kept and" not in again()
    text = config.read_text().replace("host: localhost", "host: a.example.org").replace("port: 8443", "port: 9443")
    config.write_text(text)
    lines = again().splitlines()
    dials = "was kept and dials localhost:8443, the consortium says a.example.org:9443; change it there"
    assert lines.count(f"  note    silo.yaml {dials}") == 3
    assert lines.count(f"  note    operator.yaml {dials}") == 1
    listens = "was kept and listens at 0.0.0.0:8443, the consortium says 0.0.0.0:9443; change it there"
    assert lines.count(f"  note    aggregator.yaml {listens}") == 1
    for path in kits.glob("*/[!r]*.yaml"):
        path.write_text(path.read_text().replace("localhost", "a.example.org").replace("8443", "9443"))
    assert "was kept and" not in again()


def test_two_at_once_are_refused(kits: Path, again: Callable[[], str]) -> None:
    for act in (again, lambda: renew("east", kits), lambda: revoke("east", kits)):
        with Authority.opened(kits / "authority"), pytest.raises(RunError, match=str(kits / "authority")):
            act()
    assert len(Authority.load(kits / "authority").issued()) == 5
    again()


def test_two_at_once_make_one_authority(config: Path, tmp_path: Path) -> None:
    (tmp_path / "kits").mkdir()
    with locked(tmp_path / "kits"), pytest.raises(RunError, match=str(tmp_path / "kits")):
        provision(config, tmp_path / "kits")
    assert list((tmp_path / "kits").iterdir()) == []


def test_who_left_is_named_until_revoked_and_remembered(
    kits: Path, change: Callable[..., None], again: Callable[[], str]
) -> None:
    identity = read_roster(kits / "north/roster.yaml").identities["south"]

    def leave(consortium: dict[str, Any], job: dict[str, Any]) -> None:
        consortium["silos"].pop()
        job["silos"]["names"].pop()
        job["secure_sum"] = {"kind": "plain"}

    change(leave)
    assert "south" in again()
    assert set(read_roster(kits / "north/roster.yaml").identities) == SILOS - {"south"}
    assert read_roster(kits / "authority/roster.yaml").identities["south"] == identity
    authority = Authority.load(kits / "authority")
    authority.revoke(authority.issued("south")[0].bearer.serial)
    assert "south" not in again()


def test_an_expired_certificate_stays_and_is_named(config: Path, tmp_path: Path) -> None:
    kits = tmp_path / "kits"
    authority, key = Authority.create("hospitals", kits / "authority"), new_private_key()
    (kits / "east").mkdir()
    (kits / "east/silo.key").touch(mode=0o600)
    (kits / "east/silo.key").write_bytes(key)
    past = datetime.now(UTC) - timedelta(days=2)
    pem = authority.issue(Role.SILO, "east", public_key_of(key), valid_days=1, now=past)
    assert f"`siloseal provision renew east --kits {kits}`" in "\n".join(provision(config, kits))
    assert (kits / "east/silo.crt").read_bytes() == pem


def test_the_folder_must_be_a_folder(config: Path, tmp_path: Path) -> None:
    (tmp_path / "kits").touch()
    with pytest.raises(ConfigError, match=str(tmp_path / "kits")):
        provision(config, tmp_path / "kits")


def test_kits_without_their_authority_get_no_other_one(kits: Path, again: Callable[[], str]) -> None:
    (kits / "authority").rename(kits.parent / "safe")
    with pytest.raises(CertificateError, match="aggregator, east, north"):
        again()
    assert not (kits / "authority").exists()


def test_an_authority_of_another_consortium_is_refused(kits: Path, config: Path, again: Callable[[], str]) -> None:
    config.write_text(config.read_text().replace("name: hospitals ", "name: banks "))
    with pytest.raises(ConfigError, match=r"hospitals, .*banks"):
        again()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("name: south", "name: west", r"hospitals\.yaml: .*south, .*west"),
        ("name: south", "name: North", r"silos .*north"),
        ("name: south", "name: Operator", r"silos .*operator"),
        ("name: south", "name: ../south", r"silos\.2\.name: .*'\.\./south'"),
        ("job: hospitals.yaml", "job: missing.yaml", r"missing\.yaml"),
        ("job: hospitals.yaml", "job: consortium.yaml", r"consortium\.yaml: .*`siloseal provision`"),
        ("valid_days: 365", "valid_days: 0", r"valid_days"),
        ("valid_days: 365", "valid_days: 3651", r"valid_days"),
        ("# request: inbox/east.yaml ", "request: hospitals.yaml ", r"hospitals\.yaml: .*`siloseal run`"),
        ("keys: made_by_authority", "keys: made_by_silos", r"keys"),
        ("host: localhost", "host: localhost:8443", r"localhost:8443"),
        ("port: 8443", "prot: 8443", r"aggregator\.prot .*port"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_before_anything_is_written(
    config: Path, tmp_path: Path, old: str, new: str, words: str
) -> None:
    text = config.read_text()
    assert text.count(old) == 1
    config.write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match=words):
        provision(config, tmp_path / "kits")
    assert not (tmp_path / "kits").exists()
