"""Silos make their own keys unless the consortium's file says otherwise; and what is said where the authority does."""

from collections.abc import Callable
from pathlib import Path

import pytest

from siloseal.federation.errors import ConfigError
from siloseal.federation.records.identity import Identity
from siloseal.federation.records.roster import read_roster
from siloseal.federation.transport.pki.authority import Authority
from siloseal.federation.transport.pki.certificates import read_private_key, require_pair
from siloseal.provisioning.kits import provision
from siloseal.provisioning.renewal import revoke
from siloseal.provisioning.request import make_request

SILOS = ("north", "east", "south")
POSE = "whoever holds the authority can pose as every silo"
BY_AUTHORITY = "keys: made_by_authority"


def send(name: str, folder: Path) -> Path:
    """The silo makes its keys, and its request arrives where it is expected; the silo's own folder."""
    make_request(name, folder / "at" / name)
    (folder / "requests").mkdir(exist_ok=True)
    (folder / "requests" / f"{name}.yaml").write_bytes((folder / "at" / name / "request.yaml").read_bytes())
    return folder / "at" / name


def unwrapped(page: Path) -> str:
    return " ".join(page.read_text().split())


def contents(kits: Path) -> dict[str, bytes]:
    return {str(path.relative_to(kits)): path.read_bytes() for path in kits.rglob("*") if path.is_file()}


class TestRequestsThatAreAwaited:
    def test_leave_their_silos_without_keys_and_kits_while_the_others_get_theirs(
        self, keys_at_silos: Path, tmp_path: Path
    ) -> None:
        send("east", tmp_path)
        said = "\n".join(provision(keys_at_silos, tmp_path / "kits"))
        assert {folder.name for folder in (tmp_path / "kits").iterdir()} == {"authority", "aggregator", "operator"}
        assert {path.name for path in (tmp_path / "kits").rglob("*.key")} == {
            "ca.key",
            "aggregator.key",
            "operator.key",
        }
        assert {one.bearer.name for one in Authority.load(tmp_path / "kits/authority").issued()} == {
            "aggregator",
            "operator",
        }
        assert "waiting for the requests of north, south:" in said
        for name in ("north", "south"):
            place = tmp_path / "requests" / f"{name}.yaml"
            assert f"{name} runs `siloseal provision request --name {name} --out {name}`" in said
            assert f"put it at {place}" in said
        assert f"`siloseal provision {keys_at_silos} --out {tmp_path / 'kits'}` again" in said

    def test_complete_the_kits_when_they_are_here_and_what_was_made_before_stays(
        self, keys_at_silos: Path, tmp_path: Path
    ) -> None:
        kits = tmp_path / "kits"
        provision(keys_at_silos, kits)
        before = contents(kits)
        own = {name: send(name, tmp_path) for name in SILOS}
        said = "\n".join(provision(keys_at_silos, kits))
        assert "waiting" not in said
        assert before.items() <= contents(kits).items()
        roster = read_roster(kits / "north/roster.yaml")
        assert roster.keys == {name: Identity.in_file(name, own[name] / "identity.key").public for name in SILOS}
        for name in SILOS:
            require_pair((kits / name / "silo.crt").read_bytes(), read_private_key(own[name] / "silo.key"))
            assert not list((kits / name).glob("*.key"))

    def test_of_a_silo_that_joins_leave_everybody_elses_kits_as_they_are(
        self, config: Path, kits: Path, add_silo: Callable[..., None], again: Callable[[], str], tmp_path: Path
    ) -> None:
        """An authority that makes keys makes none for a silo whose entry has a request."""
        before = {path: data for path, data in contents(kits).items() if "roster" in path or path.startswith(SILOS)}
        add_silo("west", request="requests/west.yaml")
        assert str(tmp_path / "requests" / "west.yaml") in again()
        assert before.items() <= contents(kits).items()
        assert not (kits / "west").exists()
        west = send("west", tmp_path)
        assert "waiting" not in again()
        require_pair((kits / "west/silo.crt").read_bytes(), read_private_key(west / "silo.key"))
        assert read_roster(kits / "north/roster.yaml").keys_made_by_authority == tuple(sorted(SILOS))


class TestWhereTheAuthorityMadeTheKeys:
    def test_every_kit_and_the_authority_say_that_it_can_pose_as_every_silo(
        self, kits: Path, again: Callable[[], str]
    ) -> None:
        assert POSE in again()
        for party in (*SILOS, "aggregator"):
            assert POSE in unwrapped(kits / party / "START.md")
        assert set(read_roster(kits / "aggregator/roster.yaml").keys_made_by_authority or ()) == set(SILOS)

    def test_nobody_is_told_so_where_all_silos_made_their_own(self, keys_at_silos: Path, tmp_path: Path) -> None:
        for name in SILOS:
            send(name, tmp_path)
        said = "\n".join(provision(keys_at_silos, tmp_path / "kits"))
        assert "can pose" not in said
        assert read_roster(tmp_path / "kits/north/roster.yaml").keys_made_by_authority == ()
        for party in (*SILOS, "aggregator"):
            assert "can pose as every" not in unwrapped(tmp_path / "kits" / party / "START.md")

    def test_only_for_some_their_names_are_said_to_all(self, config: Path, tmp_path: Path) -> None:
        send("east", tmp_path)
        config.write_text(config.read_text().replace("# request: inbox/east.yaml ", "request: requests/east.yaml "))
        words = "the identity keys of north, south: whoever holds the authority can pose as each of them"
        assert words in "\n".join(provision(config, tmp_path / "kits"))
        for name in SILOS:
            assert words in unwrapped(tmp_path / "kits" / name / "START.md")
        assert "beside your own `silo.key`" in unwrapped(tmp_path / "kits/east/START.md")

    def test_a_silo_that_made_its_own_still_counts_as_such_when_its_request_is_put_away(
        self, keys_at_silos: Path, tmp_path: Path
    ) -> None:
        for name in SILOS:
            send(name, tmp_path)
        provision(keys_at_silos, tmp_path / "kits")
        keys_at_silos.write_text(keys_at_silos.read_text().replace(f"# {BY_AUTHORITY}", BY_AUTHORITY))
        before = contents(tmp_path / "kits")
        for request in (keys_at_silos.parent / "requests").iterdir():
            request.unlink()
        provision(keys_at_silos, tmp_path / "kits")
        assert contents(tmp_path / "kits") == before
        revoke("east", tmp_path / "kits")
        provision(keys_at_silos, tmp_path / "kits")
        assert (tmp_path / "kits/east/identity.key").exists()
        assert read_roster(tmp_path / "kits/north/roster.yaml").keys_made_by_authority == ("east",)

    def test_a_request_that_is_there_counts_though_the_authority_makes_the_other_keys(
        self, keys_at_silos: Path, tmp_path: Path
    ) -> None:
        east = send("east", tmp_path)
        keys_at_silos.write_text(keys_at_silos.read_text().replace(f"# {BY_AUTHORITY}", BY_AUTHORITY))
        provision(keys_at_silos, tmp_path / "kits")
        require_pair((tmp_path / "kits/east/silo.crt").read_bytes(), read_private_key(east / "silo.key"))
        assert not (tmp_path / "kits/east/identity.key").exists()
        assert read_roster(tmp_path / "kits/north/roster.yaml").keys_made_by_authority == ("north", "south")


class TestKitsOfEarlierVersions:
    @pytest.fixture
    def old(self, kits: Path, keys_at_silos: Path) -> Path:
        """Kits whose rosters do not say who made the keys; the consortium's file does not say it either."""
        for path in kits.glob("*/roster.yaml"):
            path.write_text(path.read_text().split("\n# Silos whose private keys")[0])
        assert read_roster(kits / "north/roster.yaml").keys_made_by_authority is None
        return kits

    @pytest.mark.parametrize("handed_over", [False, True])
    def test_are_not_touched_before_somebody_says_who_made_the_keys(
        self, old: Path, keys_at_silos: Path, *, handed_over: bool
    ) -> None:
        if handed_over:
            for path in [*old.glob("*/silo.key"), *old.glob("*/identity.key")]:
                path.unlink()
        before = contents(old)
        with pytest.raises(ConfigError, match=r"`keys: made_by_authority`.*north"):
            provision(keys_at_silos, old)
        assert contents(old) == before

    def test_go_on_with_their_keys_and_say_what_that_means(self, old: Path, keys_at_silos: Path) -> None:
        before = contents(old)
        keys_at_silos.write_text(keys_at_silos.read_text().replace(f"# {BY_AUTHORITY}", BY_AUTHORITY))
        assert POSE in "\n".join(provision(keys_at_silos, old))
        after = contents(old)
        changed = {path for path in before if after[path] != before[path]}
        assert {path.split("/")[1] for path in changed} == {"roster.yaml"}
        assert read_roster(old / "east/roster.yaml").keys_made_by_authority == tuple(sorted(SILOS))

    def test_change_to_keys_that_the_silos_make(self, old: Path, keys_at_silos: Path, tmp_path: Path) -> None:
        for name in SILOS:
            send(name, tmp_path)
        with pytest.raises(ConfigError, match=r"north .*silo\.key, identity\.key"):
            provision(keys_at_silos, old)
        for path in [*old.glob("*/silo.key"), *old.glob("*/identity.key")]:
            path.unlink()
        said = "\n".join(provision(keys_at_silos, old))
        assert "can pose" not in said
        assert said.count("has a certificate for another key too") == len(SILOS)
        assert read_roster(old / "east/roster.yaml").keys_made_by_authority == ()
