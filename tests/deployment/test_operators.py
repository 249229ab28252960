"""What operators see of a run: status, health, numbers for Prometheus, and two audit logs that confirm each other."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import grpc
import pytest
import yaml
from grpc_health.v1 import health_pb2

from siloseal.cli.app import main
from siloseal.federation.records.audit import AuditLog, entries, head_path, verify_audit
from siloseal.federation.records.roster import read_roster
from siloseal.federation.transport.pki.authority import Authority
from siloseal.federation.transport.pki.certificates import bearer_of
from siloseal.provisioning.addresses import free_port
from siloseal.run_folder.run import read_run
from siloseal.runs.status import ask_status

from .client import Caller, Pair, broken
from .conftest import NAMES, ONE_STEP, Consortium
from .evidence import audit_lines, digests
from .parties import Party

DIGEST_CHARACTERS = 64
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def siloseal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line in this process: exit code, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["siloseal", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    return call


@pytest.fixture(scope="module")
def waiting(lasting_consortium_of: Callable[..., Consortium]) -> Consortium:
    """North attends and has enrolled; the run waits for the others."""
    consortium = lasting_consortium_of(schedule=ONE_STEP)
    consortium.edit("aggregator", metrics={"port": free_port()})
    consortium.edit("north", metrics={"port": free_port()})
    consortium.aggregator.start().wait_for("serves")
    consortium.silos["north"].start().wait_for("delivered", number=1)
    return consortium


@pytest.fixture(scope="module")
def finished(lasting_consortium_of: Callable[..., Consortium]) -> Consortium:
    consortium = lasting_consortium_of()
    consortium.start().finish()
    return consortium


def listening_ports(party: Party) -> set[int]:
    """The TCP ports at which a process listens, as the kernel knows them."""
    inodes = {str(link.readlink()) for link in Path(f"/proc/{party.pid}/fd").iterdir() if link.is_symlink()}
    found = set[int]()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{party.pid}/net/{table}").read_text().splitlines()[1:]:
            local, state, inode = (line.split()[column] for column in (1, 3, 9))
            if state == "0A" and f"socket:[{inode}]" in inodes:
                found.add(int(local.split(":")[1], 16))
    return found


def page(consortium: Consortium, party: str) -> dict[str, float]:
    """The lines of a page for Prometheus."""
    path = consortium.kits / party / ("aggregator.yaml" if party == "aggregator" else "silo.yaml")
    port = yaml.safe_load(path.read_text())["metrics"]["port"]
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


class TestStatus:
    @pytest.mark.parametrize("path", ["operator/operator.yaml", "north/silo.yaml"])
    def test_is_a_table_for_a_person(self, waiting: Consortium, siloseal: Command, path: str) -> None:
        code, out, _ = siloseal("status", "--config", waiting.kits / path)
        assert code == 0
        assert out.startswith("small: ")
        assert "request 1 (enrol); serving for" in out
        rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if "│" in line]
        assert [(row[0], row[1], row[3]) for row in rows] == [
            ("north", "yes", "no"), ("east", "no", "yes"), ("south", "no", "yes"),
        ]  # fmt: skip
        assert rows[1][2] == "never"

    @pytest.mark.parametrize("path", ["operator/operator.yaml", "north/silo.yaml"])
    def test_is_one_document_for_a_program(self, waiting: Consortium, siloseal: Command, path: str) -> None:
        code, out, err = siloseal("status", "--json", "--config", waiting.kits / path)
        assert (code, err) == (0, "")
        report = json.loads(out)
        assert (report["job"], report["request"], report["asked"]) == ("small", 1, "enrol")
        assert report["job_digest"] == waiting.job.digest.hex()
        assert report["run"] == waiting.run_folder("north").name
        north, east, _ = report["silos"]
        assert (north["name"], north["attending"], north["answered"], north["trouble"]) == ("north", True, True, "")
        assert north["sent_bytes"] == waiting.aggregator.wait_for("accepts", silo="north")["reply_bytes"]
        assert (east["attending"], east["last_seen"], east["answered"]) == (False, None, False)

    def test_with_a_revoked_certificate_is_refused_in_words(self, waiting: Consortium, siloseal: Command) -> None:
        authority = Authority.load(waiting.kits / "authority")
        authority.revoke(bearer_of((waiting.kits / "south" / "silo.crt").read_bytes()).serial)
        (waiting.kits / "aggregator" / "revoked.pem").write_bytes(authority.crl())
        code, out, err = siloseal("status", "--config", waiting.kits / "south" / "silo.yaml")
        assert (code, out) == (1, "")
        assert "the silo south of three was revoked" in " ".join(err.split())

    def test_explains_a_mistake_in_a_silos_file_as_that_of_a_silos_file(
        self, finished: Consortium, siloseal: Command
    ) -> None:
        text = (finished.kits / "north" / "silo.yaml").read_text()
        assert "\nroster: " in text
        (path := finished.kits / "north" / "typo.yaml").write_text(text.replace("\nroster: ", "\nrooster: "))
        code, out, _ = siloseal("status", "--json", "--config", path)
        assert code == 2
        (said,) = [line.split(": ", 1)[1] for line in json.loads(out)["error"].splitlines()]
        assert said.startswith("rooster ")
        assert "roster" in said

    def test_without_an_aggregator_says_that_none_listens(self, finished: Consortium, siloseal: Command) -> None:
        code, out, err = siloseal("status", "--json", "--config", finished.kits / "operator" / "operator.yaml")
        assert code == 1
        assert f"localhost:{finished.port}" in json.loads(out)["error"]
        assert f"localhost:{finished.port}" in err

    def test_says_when_a_silo_called_that_does_not_attend(self, waiting: Consortium) -> None:
        with Caller(waiting, Pair.of(waiting.kits / "east")) as east:
            east.offer()
        _, east_now, south_now = ask_status(waiting.kits / "operator" / "operator.yaml").silos
        assert (east_now.attending, east_now.last_seen > 0, south_now.last_seen) == (False, True, 0)


class TestHealth:
    @pytest.mark.parametrize("kit", ["operator", "north"])
    def test_is_serving_for_whoever_has_a_certificate(self, waiting: Consortium, kit: str) -> None:
        with Caller(waiting, Pair.of(waiting.kits / kit)) as caller:
            assert caller.health() == health_pb2.HealthCheckResponse.SERVING

    def test_is_nothing_for_others(self, waiting: Consortium) -> None:
        with Caller(waiting, Pair()) as caller:
            assert broken(caller.health) is grpc.StatusCode.UNAVAILABLE


class TestNumbers:
    def test_of_the_aggregator_are_those_of_the_status(self, waiting: Consortium) -> None:
        numbers = page(waiting, "aggregator")
        assert numbers["siloseal_request_number"] == 1
        assert numbers['siloseal_phase{phase="enrolment"}'] == 1
        assert [numbers[f'siloseal_silo_attending{{silo="{name}"}}'] for name in NAMES] == [1, 0, 0]
        assert [numbers[f'siloseal_silo_owes_reply{{silo="{name}"}}'] for name in NAMES] == [0, 1, 1]
        sent = waiting.aggregator.wait_for("accepts", silo="north")["reply_bytes"]
        assert numbers['siloseal_silo_sent_bytes_total{silo="north"}'] == sent
        assert numbers["siloseal_serving_seconds"] > 0

    def test_of_a_silo_are_its_own(self, waiting: Consortium) -> None:
        numbers = page(waiting, "north")
        assert numbers["siloseal_connected"] == 1
        assert numbers["siloseal_request_number"] == 1
        assert numbers["siloseal_epsilon_spent"] == 0
        assert not any("silo=" in name for name in numbers)

    def test_are_served_at_no_port_unless_one_is_given(
        self, waiting: Consortium, lasting_consortium_of: Callable[..., Consortium]
    ) -> None:
        consortium = lasting_consortium_of(schedule=ONE_STEP)
        consortium.aggregator.start().wait_for("serves")
        consortium.silos["north"].start().wait_for("delivered", number=1)
        assert listening_ports(consortium.aggregator) == {consortium.port}
        assert listening_ports(consortium.silos["north"]) == set()
        assert len(listening_ports(waiting.aggregator)) == 2
        assert len(listening_ports(waiting.silos["north"])) == 1

    @pytest.mark.parametrize("party", ["aggregator", "north"])
    def test_at_a_port_that_is_taken_are_an_error_in_words(
        self, lasting_consortium_of: Callable[..., Consortium], party: str
    ) -> None:
        consortium = lasting_consortium_of(schedule=ONE_STEP)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            consortium.edit(party, metrics={"port": port})
            process = {"aggregator": consortium.aggregator, **consortium.silos}[party]
            assert process.start().wait() == 1
        assert f"metrics cannot be served at 127.0.0.1:{port}" in process.wait_for("error", type="RunError")["words"]


class TestTheAggregatorsReport:
    """In its state folder, as that of every run, with what only silos know left out."""

    def test_has_traffic_timings_protection_and_what_the_silos_reported(self, finished: Consortium) -> None:
        run = read_run(finished.state("aggregator"))
        assert run.summary.written_by == "aggregator"
        accepted = audit_lines(finished, "aggregator", "accepts")
        assert sum(row.sent_bytes for row in run.traffic) == sum(line["reply_bytes"] for line in accepted)
        assert [row.stage for row in run.timing] == ["enrolment", "warm_start", "phase_1", "phase_2"]
        assert [row.stage for row in run.protection] == ["phase_1", "phase_2"]
        assert run.summary.parameters["clip norm"] == "1"
        reported = {line["silo"]: line["epsilon_at_most"] for line in audit_lines(finished, "aggregator", "spent")}
        assert {silo.name: silo.epsilon for silo in run.summary.silos} == reported
        assert run.summary.warnings == [read_roster(finished.kits / "aggregator" / "roster.yaml").warning]
        assert set(run.samples) == {("warm_start", None), ("phase_1", None), ("final", None)}
        shown = (finished.state("aggregator") / "report.html").read_text()
        assert shown.count("data:image/png") == 3

    def test_knows_neither_data_nor_exact_ledgers_nor_keys(self, finished: Consortium) -> None:
        run = read_run(finished.state("aggregator"))
        assert run.quality == []
        assert (run.summary.accuracy, run.summary.scores, run.summary.best_silo_accuracy) == ({}, [], None)
        for silo in run.summary.silos:
            assert (silo.examples, silo.tasks, silo.labels) == (None, None, None)
            twentieths = 20 * (silo.epsilon or 0) / (silo.budget or 1)
            assert twentieths == pytest.approx(round(twentieths))
            (exact,) = {line["epsilon"] for line in audit_lines(finished, silo.name, "leaves")}
            assert exact < (silo.epsilon or 0), "rounded up, so that the number of examples does not follow from it"
        names = ("config.yaml", "summary.json", "metrics.jsonl", "report.html")
        contents = [(finished.state("aggregator") / name).read_bytes() for name in names]
        keys = [path.read_bytes() for kit in ("aggregator", *NAMES) for path in (finished.kits / kit).glob("*.key")]
        assert len(keys) == 1 + 2 * len(NAMES)
        for key in keys:
            secret = key.splitlines()[1] if key.startswith(b"-----BEGIN") else key.hex().encode()
            assert not any(secret in content for content in contents)

    def test_is_written_again_by_the_command_and_only_its_owner_reads_it(
        self, finished: Consortium, siloseal: Command
    ) -> None:
        report = finished.state("aggregator") / "report.html"
        before = report.read_text()
        code, out, _ = siloseal("report", finished.state("aggregator"))
        assert (code, out.strip()) == (0, str(report))
        assert report.read_text() == before
        assert report.stat().st_mode & 0o777 == 0o600
        assert "Not known at the aggregator" in before
        assert "not measured" not in before

    def test_is_announced_last_and_stays_when_the_aggregator_is_started_again(self, finished: Consortium) -> None:
        state, aggregator = finished.state("aggregator"), finished.aggregator
        assert aggregator.events[-1] == {"event": "report", "path": str(state / "report.html")}
        before = (state / "summary.json").read_bytes()
        assert aggregator.start().wait() == 0
        assert (state / "summary.json").read_bytes() == before


def test_an_aggregator_at_a_port_that_is_taken_ends_with_words(waiting: Consortium) -> None:
    document = {**yaml.safe_load(waiting.aggregator.config.read_text()), "state": "another_state", "metrics": None}
    (path := waiting.aggregator.config.with_name("second.yaml")).write_text(yaml.safe_dump(document))
    second = Party("aggregator", path).start()
    assert second.wait() == 1
    words = second.wait_for("error", type="RunError")["words"]
    assert f"cannot listen at 127.0.0.1:{waiting.port}" in words


class TestAuditLogs:
    @pytest.fixture
    def logs(self, finished: Consortium) -> dict[str, Path]:
        return {party: finished.state(party) / "audit.jsonl" for party in ("aggregator", *NAMES)}

    def test_of_all_parties_verify_after_a_run(self, logs: dict[str, Path], siloseal: Command) -> None:
        for party, log in logs.items():
            assert verify_audit(log).lines > 5
            assert {entry.who for entry in entries(log)} == {party}
            assert siloseal("audit", "verify", log)[0] == 0

    def test_of_both_sides_hold_the_same_digests_of_every_reply(self, finished: Consortium) -> None:
        accepted = digests(audit_lines(finished, "aggregator", "accepts"), "silo", "number")
        for name in NAMES:
            answered = digests(audit_lines(finished, name, "answers"), "number")
            assert {(name, *number): found for number, found in answered.items()} == {
                key: found for key, found in accepted.items() if key[0] == name
            }
            assert all(len(found) == 1 for found in answered.values())

    def test_hold_the_same_digests_of_every_request(self, finished: Consortium) -> None:
        asked = {line["number"]: line["requests"] for line in audit_lines(finished, "aggregator", "asks")}
        for name in NAMES:
            for line in audit_lines(finished, name, "answers"):
                assert line["request"] in asked[line["number"]]

    def test_hold_nothing_that_is_longer_than_a_digest_and_no_long_list(self, logs: dict[str, Path]) -> None:
        for log in logs.values():
            for entry in entries(log):
                for name, value in entry.fields.items():
                    texts = value if isinstance(value, list) else [str(value)]
                    assert len(texts) <= len(NAMES), name
                    assert all(len(text) <= DIGEST_CHARACTERS for text in texts), name

    @pytest.mark.parametrize("party", ["aggregator", "north"])
    def test_that_were_removed_are_missed_and_no_new_one_begins(self, finished: Consortium, party: str) -> None:
        process = {"aggregator": finished.aggregator, **finished.silos}[party]
        log, shows = finished.state(party) / "audit.jsonl", {"aggregator": "journal.sqlite", "north": "runs"}[party]
        removed = {path: path.read_bytes() for path in (log, head_path(log))}
        try:
            for left in (None, b""):
                for path in removed:
                    path.unlink(missing_ok=True)
                if left is not None:
                    log.write_bytes(left)
                assert process.start().wait() == 1
                words = process.wait_for("error", type="AuditDamaged")["words"]
                assert f"{log} and its head are gone, but {shows} " in words
                assert not head_path(log).exists()
        finally:
            for path, content in removed.items():
                path.write_bytes(content)


@pytest.mark.parametrize("killed", ["before the head", "before the first line"])
def test_an_aggregator_that_was_killed_while_its_log_began_starts_again(
    consortium_of: Callable[..., Consortium], killed: str
) -> None:
    consortium = consortium_of(schedule=ONE_STEP)
    state = consortium.state("aggregator")
    state.mkdir(mode=0o700)
    if killed == "before the head":
        (state / "audit.jsonl").touch(mode=0o600)
    else:
        AuditLog(state / "audit.jsonl", who="aggregator").close()
        (state / "journal.sqlite").touch(mode=0o600)
    consortium.aggregator.start().wait_for("serves")
    assert next(entries(state / "audit.jsonl")).event == "serves"


@pytest.mark.parametrize(("party", "begins"), [("aggregator", "serves"), ("north", "waiting")])
def test_a_supervisors_sigterm_stops_a_process_with_words(
    consortium_of: Callable[..., Consortium], party: str, begins: str
) -> None:
    consortium = consortium_of(schedule=ONE_STEP)
    process = {"aggregator": consortium.aggregator, **consortium.silos}[party]
    command = [sys.executable, "-m", "siloseal", process.role, "--config", str(process.config), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            assert begins in (json.loads(line)["event"] for line in running.stdout)
            running.send_signal(signal.SIGTERM)
            _, errors = running.communicate(timeout=60)
        finally:
            running.kill()
    assert errors.splitlines()[-1] == "stopped; the same command continues where it stopped"
    assert running.returncode == 130
    verify_audit(consortium.state(party) / "audit.jsonl")


@pytest.mark.parametrize("what", ["runs", "job"])
def test_a_silo_whose_past_runs_were_removed_does_not_forget_what_it_spent_there(
    finished: Consortium, what: str
) -> None:
    north, run = finished.silos["north"], finished.run_folder("north")
    removed = run.parent if what == "runs" else run / "job.yaml"
    removed.rename(aside := finished.folder / "aside")
    try:
        assert north.start().wait() == 1
    finally:
        aside.rename(removed)
    words = north.wait_for("error", type="LedgerDamaged")["words"]
    assert run.name in words
    assert north.start().wait_for("waiting")
    north.kill()


def test_when_the_run_is_over_nothing_listens_any_more(finished: Consortium) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", finished.port), timeout=30)
