"""Certificates end by the calendar or by revocation, and a key that was revoked never comes back."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from siloseal.federation.errors import CertificateError, ConfigError
from siloseal.federation.records.roster import read_roster
from siloseal.federation.transport.pki.authority import Authority
from siloseal.federation.transport.pki.certificates import Revocations, bearer_of, read_private_key, require_pair
from siloseal.provisioning.kits import provision
from siloseal.provisioning.renewal import renew, revoke
from siloseal.provisioning.request import make_request


def days_left(pem: bytes) -> float:
    return (bearer_of(pem).not_after - datetime.now(UTC)) / timedelta(days=1)


@pytest.mark.parametrize(("name", "stem"), [("east", "silo"), ("aggregator", "aggregator"), ("operator", "operator")])
def test_a_renewal_is_a_new_certificate_for_the_same_key(kits: Path, name: str, stem: str) -> None:
    path = kits / name / f"{stem}.crt"
    old, key = path.read_bytes(), read_private_key(kits / name / f"{stem}.key")
    said = "\n".join(renew(name, kits))
    new = path.read_bytes()
    assert bearer_of(new).serial != bearer_of(old).serial
    assert read_private_key(kits / name / f"{stem}.key") == key
    require_pair(new, key)
    assert days_left(new) == pytest.approx(365, abs=0.1)
    assert (
        f"stays valid, unless `siloseal provision revoke` takes back both, until {bearer_of(old).not_after:%Y}" in said
    )
    issued = Authority.load(kits / "authority").issued(name)
    assert {one.pem for one in issued} == {old, new}
    assert len({one.hosts for one in issued}) == 1


def test_a_renewal_is_for_the_host_of_the_certificate_in_use(
    kits: Path, config: Path, again: Callable[[], str]
) -> None:
    text = config.read_text()
    config.write_text(text.replace("host: localhost", "host: a.example.org"))
    again()
    config.write_text(text)
    again()
    renew("aggregator", kits)
    assert Authority.load(kits / "authority").issued("aggregator")[-1].hosts == ("localhost",)
    (kits / "aggregator/aggregator.crt").unlink()
    renew("aggregator", kits)
    assert Authority.load(kits / "authority").issued("aggregator")[-1].hosts == ("localhost",)


def test_a_renewal_may_last_another_time(kits: Path) -> None:
    renew("east", kits, valid_days=7)
    assert days_left((kits / "east/silo.crt").read_bytes()) == pytest.approx(7, abs=0.1)


def expired(kits: Path) -> datetime:
    """The day on which the certificate of `east` has expired, which takes the place of the valid one."""
    authority = Authority.load(kits / "authority")
    (old,) = authority.issued("east")
    (kits / "authority/issued" / f"east.{old.bearer.serial:x}.pem").unlink()
    issued = datetime.now(UTC) - timedelta(days=40)
    authority.issue(old.bearer.role, "east", old.public_key, valid_days=30, now=issued)
    return issued + timedelta(days=30)


def test_a_renewal_after_the_end_says_that_the_old_one_is_over(kits: Path) -> None:
    assert f" {expired(kits):%Y-%m-%d}" in "\n".join(renew("east", kits))


def test_a_kit_that_was_handed_over_is_renewed_from_what_was_issued(kits: Path) -> None:
    key = read_private_key(kits / "east/silo.key")
    for path in (kits / "east").iterdir():
        path.unlink()
    (kits / "east").rmdir()
    renew("east", kits)
    require_pair((kits / "east/silo.crt").read_bytes(), key)
    assert [path.name for path in (kits / "east").iterdir()] == ["silo.crt"]


def test_provisioning_after_a_renewal_keeps_the_new_certificate(kits: Path, again: Callable[[], str]) -> None:
    renew("east", kits, valid_days=700)
    new = (kits / "east/silo.crt").read_bytes()
    again()
    assert (kits / "east/silo.crt").read_bytes() == new


def test_a_revocation_takes_back_every_certificate_of_the_name_and_no_other(kits: Path) -> None:
    ours = kits / "aggregator"
    running = Revocations(ours / "revoked.pem", (ours / "ca.crt").read_bytes(), remembered=ours / "state/newest.json")
    bearers = [bearer_of((kits / "east/silo.crt").read_bytes())]
    renew("east", kits)
    bearers.append(bearer_of((kits / "east/silo.crt").read_bytes()))
    for bearer in bearers:
        running.require_not_revoked(bearer)
    said = "\n".join(revoke("east", kits))
    for bearer in bearers:
        with pytest.raises(CertificateError, match=str(bearer)):
            running.require_not_revoked(bearer)
    running.require_not_revoked(bearer_of((kits / "north/silo.crt").read_bytes()))
    assert (kits / "aggregator/revoked.pem").read_bytes() == (kits / "authority/revoked.pem").read_bytes()
    assert f"{kits}/aggregator/revoked.pem" in said


def test_a_revocation_that_was_killed_before_the_copy_is_completed_by_the_next(kits: Path) -> None:
    empty = (kits / "aggregator/revoked.pem").read_bytes()
    revoke("east", kits)
    (kits / "aggregator/revoked.pem").write_bytes(empty)
    revoke("east", kits)
    assert (kits / "aggregator/revoked.pem").read_bytes() == (kits / "authority/revoked.pem").read_bytes()


def test_a_revoked_key_is_not_renewed_and_not_certified_again(kits: Path, again: Callable[[], str]) -> None:
    revoke("east", kits)
    before = len(Authority.load(kits / "authority").issued())
    with pytest.raises(CertificateError, match=r"east .*revoked"):
        renew("east", kits)
    with pytest.raises(CertificateError, match=r"east .*revoked"):
        again()
    (kits / "east/silo.key").rename(kits / "stolen.key")
    with pytest.raises(CertificateError, match=r"east .*revoked"):
        renew("east", kits)
    assert len(Authority.load(kits / "authority").issued()) == before


def test_an_expired_certificate_is_revoked_too_so_that_its_key_is_not_renewed(kits: Path) -> None:
    expired(kits)
    revoke("east", kits)
    with pytest.raises(CertificateError, match=r"east .*revoked"):
        renew("east", kits)


def test_after_a_revocation_a_removed_key_is_made_anew(kits: Path, again: Callable[[], str]) -> None:
    old, identities = (kits / "east/silo.key").read_bytes(), read_roster(kits / "east/roster.yaml").identities
    revoke("east", kits)
    (kits / "east/silo.key").unlink()
    again()
    new = read_private_key(kits / "east/silo.key")
    assert new != old
    require_pair((kits / "east/silo.crt").read_bytes(), new)
    assert read_roster(kits / "east/roster.yaml").identities == identities
    renew("east", kits)
    require_pair((kits / "east/silo.crt").read_bytes(), new)


def test_after_a_revocation_a_removed_identity_is_made_anew_too(kits: Path, again: Callable[[], str]) -> None:
    before = read_roster(kits / "north/roster.yaml").identities
    revoke("east", kits)
    (kits / "east/silo.key").unlink()
    (kits / "east/identity.key").unlink()
    assert "roster.yaml has changed" in again()
    after = read_roster(kits / "north/roster.yaml").identities
    assert {name for name in after if after[name] != before[name]} == {"east"}


def test_an_identity_that_is_removed_too_late_stays_and_a_note_says_what_to_do(
    kits: Path, again: Callable[[], str]
) -> None:
    before = read_roster(kits / "north/roster.yaml").identities
    revoke("east", kits)
    (kits / "east/silo.key").unlink()
    assert "identity.key is not here" not in again()
    (kits / "east/identity.key").unlink()
    said = again()
    assert read_roster(kits / "north/roster.yaml").identities == before
    assert f"`siloseal provision revoke east --kits {kits}`" in said
    revoke("east", kits)
    (kits / "east/silo.key").unlink()
    again()
    assert read_roster(kits / "north/roster.yaml").identities["east"] != before["east"]


def test_one_certificate_is_taken_back_and_the_others_stand(kits: Path) -> None:
    renew("east", kits)
    first, second = Authority.load(kits / "authority").issued("east")
    said = "\n".join(revoke("east", kits, f"0{first.bearer.serial:X}"))
    assert [one.revoked for one in Authority.load(kits / "authority").issued("east")] == [True, False]
    assert "east: 1 certificates revoked, 0 were already" in said
    assert f"({second.bearer.serial:x})" in said
    assert (kits / "aggregator/revoked.pem").read_bytes() == (kits / "authority/revoked.pem").read_bytes()
    assert "0 certificates revoked, 1 were already" in revoke("east", kits, f"{first.bearer.serial:x}")[0]


@pytest.mark.parametrize("serial", ["", "xyz", "-1", "ff"])
def test_a_serial_number_that_the_name_never_had_is_refused(kits: Path, serial: str) -> None:
    (east,) = Authority.load(kits / "authority").issued("east")
    with pytest.raises(ConfigError, match=f"--serial is '{serial}', .*east.* {east.bearer.serial:x}$"):
        revoke("east", kits, serial)
    with pytest.raises(ConfigError, match=f"--serial is '{east.bearer.serial:x}', .*north"):
        revoke("north", kits, f"{east.bearer.serial:x}")
    assert not any(one.revoked for one in Authority.load(kits / "authority").issued())


def test_a_silo_with_its_own_keys_is_renewed_and_after_a_revocation_sends_a_new_request(
    config: Path, add_silo: Callable[..., None], tmp_path: Path
) -> None:
    kits, west = tmp_path / "kits", tmp_path / "west"
    make_request("west", west)
    add_silo("west", request="west/request.yaml")
    provision(config, kits)
    renew("west", kits)
    require_pair((kits / "west/silo.crt").read_bytes(), read_private_key(west / "silo.key"))
    revoke("west", kits)
    for attempt in (lambda: renew("west", kits), lambda: provision(config, kits)):
        with pytest.raises(CertificateError, match=r"west .*revoked"):
            attempt()
    for path in west.iterdir():
        path.unlink()
    make_request("west", west)
    provision(config, kits)
    require_pair((kits / "west/silo.crt").read_bytes(), read_private_key(west / "silo.key"))


def test_revoking_the_aggregator_says_what_that_does_not_do(kits: Path) -> None:
    assert "silos have no list of revoked certificates" in "\n".join(revoke("aggregator", kits))


@pytest.mark.parametrize("act", [renew, revoke])
def test_a_name_that_nobody_has_is_refused_with_those_that_are_known(
    kits: Path, act: Callable[[str, Path], list[str]]
) -> None:
    with pytest.raises(
        ConfigError, match=f"West.*{', '.join(sorted(('aggregator', 'operator', 'east', 'north', 'south')))}"
    ):
        act("West", kits)


@pytest.mark.parametrize("act", [renew, revoke])
def test_a_folder_without_an_authority_is_refused(tmp_path: Path, act: Callable[[str, Path], list[str]]) -> None:
    with pytest.raises(CertificateError, match=r"ca\.crt"):
        act("east", tmp_path)
