"""What every party gets, and that its owner can start from it."""

import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from siloseal.aggregator.config import AggregatorConfig
from siloseal.federation.config.loading import load_config
from siloseal.federation.config.section import placed
from siloseal.federation.job.job import Job
from siloseal.federation.records.identity import Identity
from siloseal.federation.records.roster import read_roster
from siloseal.federation.transport.config import Tls
from siloseal.federation.transport.pki.authority import Authority
from siloseal.federation.transport.pki.certificates import Revocations, Role
from siloseal.federation.transport.tls import read_credentials
from siloseal.provisioning.consortium import OperatorConfig, read_consortium
from siloseal.provisioning.kits import provision
from siloseal.silo.config import Policy, SiloConfig

SILOS = ("north", "east", "south")
SILO_FILES = {"silo.crt", "silo.key", "identity.key", "ca.crt", "roster.yaml", "silo.yaml", "START.md"}
FILES = {
    "authority": {"ca.key", "ca.crt", "revoked.pem", "roster.yaml", "issued"},
    "aggregator": {
        "aggregator.crt", "aggregator.key", "ca.crt", "revoked.pem", "roster.yaml", "job.yaml", "aggregator.yaml",
        "START.md",
    },
    "operator": {"operator.crt", "operator.key", "ca.crt", "operator.yaml", "START.md"},
    **dict.fromkeys(SILOS, SILO_FILES),
}  # fmt: skip
ROLES = {"aggregator": Role.AGGREGATOR, "operator": Role.OPERATOR, **dict.fromkeys(SILOS, Role.SILO)}


def test_every_party_gets_its_folder(kits: Path) -> None:
    found = {folder.name: {path.name for path in folder.iterdir()} for folder in kits.iterdir()}
    assert found == FILES
    assert len(list((kits / "authority" / "issued").iterdir())) == 5


def test_keys_and_folders_are_their_owners_only(kits: Path) -> None:
    keys = list(kits.rglob("*.key"))
    assert len(keys) == 1 + 1 + 1 + 2 * 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in keys} == {0o600}
    folders = [kits, *(path for path in kits.rglob("*") if path.is_dir())]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


def test_a_folder_that_others_could_enter_is_closed(config: Path, tmp_path: Path) -> None:
    (tmp_path / "kits" / "north").mkdir(parents=True, mode=0o755)
    provision(config, tmp_path / "kits")
    assert stat.S_IMODE((tmp_path / "kits" / "north").stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ROLES)
def test_key_and_certificate_of_each_belong_together(kits: Path, name: str) -> None:
    folder, role = kits / name, ROLES[name]
    files = Tls(certificate=folder / f"{role}.crt", key=folder / f"{role}.key", authority=folder / "ca.crt")
    bearer = read_credentials(files, role=role, name=name).bearer
    assert bearer.consortium == "hospitals"
    assert 365 <= (bearer.not_after - bearer.not_before).days <= 366


def test_the_aggregators_certificate_names_its_host_only(kits: Path) -> None:
    (issued,) = Authority.load(kits / "authority").issued("aggregator")
    assert issued.hosts == ("localhost",)


def test_everyone_has_the_same_roster_of_the_silos_identities(kits: Path) -> None:
    rosters = {path.read_bytes() for path in kits.glob("*/roster.yaml")}
    assert len(rosters) == 1
    keys = read_roster(kits / "north" / "roster.yaml").keys
    assert keys == {name: Identity.in_file(name, kits / name / "identity.key").public for name in SILOS}


@pytest.mark.parametrize("name", SILOS)
def test_a_silos_file_loads_and_its_files_are_there(kits: Path, config: Path, name: str) -> None:
    path = kits / name / "silo.yaml"
    loaded = placed(load_config(SiloConfig, path), path.parent)
    assert loaded.name == name
    assert str(loaded.aggregator) == "localhost:8443"
    assert loaded.policy == read_consortium(config).policy
    for file in (loaded.tls.certificate, loaded.tls.key, loaded.tls.authority, loaded.identity, loaded.roster):
        assert file.is_file()
    assert loaded.state == kits / name / "state"


def test_the_aggregators_file_loads_and_its_files_are_there(kits: Path, config: Path) -> None:
    path = kits / "aggregator" / "aggregator.yaml"
    loaded = placed(load_config(AggregatorConfig, path), path.parent)
    assert (loaded.host, loaded.port) == ("0.0.0.0", 8443)  # noqa: S104 (what the file says)
    read_credentials(loaded.tls, role=Role.AGGREGATOR)
    Revocations(loaded.revoked, loaded.tls.authority.read_bytes(), remembered=loaded.state / "newest.json")
    assert loaded.job.read_bytes() == config.with_name("hospitals.yaml").read_bytes()
    assert set(load_config(Job, loaded.job).silos.names) == set(SILOS)


def test_defaults_that_are_written_out_are_the_defaults(kits: Path) -> None:
    written = load_config(AggregatorConfig, kits / "aggregator" / "aggregator.yaml")
    fields = AggregatorConfig.model_fields
    assert written.deadlines == fields["deadlines"].default
    assert load_config(SiloConfig, kits / "east" / "silo.yaml").limits == SiloConfig.model_fields["limits"].default


def test_the_operators_file_loads_and_its_files_are_there(kits: Path) -> None:
    path = kits / "operator" / "operator.yaml"
    loaded = placed(load_config(OperatorConfig, path), path.parent)
    read_credentials(loaded.tls, role=Role.OPERATOR)
    assert loaded.aggregator.port == 8443


def test_a_job_that_the_policy_would_refuse_is_noted(config: Path, change: Callable[..., None], tmp_path: Path) -> None:
    assert not any("does not allow" in line for line in provision(config, tmp_path / "good"))
    change(lambda consortium, job: consortium["policy"].update(largest_epsilon=1))
    lines = provision(config, tmp_path / "bad")
    (note,) = [line for line in lines if "does not allow" in line]
    assert re.search(r"privacy\.epsilon is 10, .*policy\.largest_epsilon is 1;.* north", note)


def test_every_line_of_the_policy_says_what_it_means(kits: Path) -> None:
    lines = (kits / "north" / "silo.yaml").read_text().splitlines()
    for name in Policy.model_fields:
        (index,) = [i for i, line in enumerate(lines) if line.startswith(f"  {name}:")]
        assert re.fullmatch(r"  # .{15,}", lines[index - 1])


@pytest.mark.parametrize("name", [*SILOS, "aggregator", "operator"])
def test_the_first_page_has_the_command_and_warns_of_the_channel(kits: Path, name: str) -> None:
    page = (kits / name / "START.md").read_text()
    commands = {"aggregator": "aggregator --config aggregator.yaml", "operator": "status --config operator.yaml"}
    assert f"\n    siloseal {commands.get(name, 'silo --config silo.yaml')}\n" in page
    assert "a channel that only you read" in page
    assert max(map(len, page.splitlines())) <= 120
    if name in SILOS:
        assert "`policy` in `silo.yaml`" in page
        assert "`data` in `silo.yaml`" in page


def test_a_name_that_reads_as_something_else_stays_a_name(
    config: Path, add_silo: Callable[..., None], tmp_path: Path
) -> None:
    names = ["123", "true", "null", "1e5", "0x1F", "2026-01-01"]
    for name in names:
        add_silo(name)
    provision(config, tmp_path / "kits")
    for name in names:
        assert load_config(SiloConfig, tmp_path / "kits" / name / "silo.yaml").name == name
    assert set(read_roster(tmp_path / "kits" / "north" / "roster.yaml").keys) == {*SILOS, *names}


def test_data_and_classes_are_the_members(config: Path, add_silo: Callable[..., None], tmp_path: Path) -> None:
    data = {"kind": "folder", "path": "${DATA}/x: #1", "side": 28, "class_names": ["a, b", "no"]}
    add_silo("west", data=data, classes=[0, 3])
    provision(config, tmp_path / "kits")
    loaded = load_config(SiloConfig, tmp_path / "kits" / "west" / "silo.yaml")
    assert loaded.data.model_dump(mode="json", exclude_unset=True) == data
    assert loaded.classes == (0, 3)
    assert load_config(SiloConfig, tmp_path / "kits" / "north" / "silo.yaml").classes is None


def test_an_address_of_ipv6_serves_too(config: Path, tmp_path: Path) -> None:
    config.write_text(config.read_text().replace("host: localhost", "host: '0:0:0:0:0:0:0:1'"))
    provision(config, tmp_path / "kits")
    provision(config, tmp_path / "kits")
    (issued,) = Authority.load(tmp_path / "kits" / "authority").issued("aggregator")
    assert issued.hosts == ("::1",)
    assert load_config(SiloConfig, tmp_path / "kits" / "east" / "silo.yaml").aggregator.host == "0:0:0:0:0:0:0:1"
