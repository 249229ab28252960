"""A disk that fills up under the aggregator, by a limit of the kernel's on the size of its files."""

import resource
from collections.abc import Callable

from siloseal.federation.records.audit import verify_audit
from siloseal.run_folder.run import read_run
from siloseal.runs.status import ask_status

from .conftest import NAMES, ONE_STEP, Consortium
from .evidence import audit_lines, journal_replies
from .parties import Party


def limit_files(party: Party, size: int) -> None:
    """No file of this process grows beyond `size`; what would, fails as on a full disk."""
    resource.prlimit(party.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def require_everything_counted_once(consortium: Consortium) -> None:
    replies = journal_replies(consortium)
    assert [(number, silo) for number, silo, _ in replies] == [(n, s) for n in range(1, 7) for s in sorted(NAMES)]
    traffic = read_run(consortium.state("aggregator")).traffic
    for name in NAMES:
        sent = sum(row.sent_bytes for row in traffic if row.silo == name)
        assert sent == sum(len(reply) for _, silo, reply in replies if silo == name)
    verify_audit(consortium.state("aggregator") / "audit.jsonl")


def test_without_room_for_a_reply_silos_hear_so_and_the_run_ends_well_when_there_is_room_again(
    consortium_of: Callable[..., Consortium],
) -> None:
    consortium = consortium_of(schedule=ONE_STEP)
    aggregator = consortium.aggregator.start()
    aggregator.wait_for("serves")
    limit_files(aggregator, (consortium.state("aggregator") / "journal.sqlite-wal").stat().st_size)
    for silo in consortium.silos.values():
        silo.start()
    for silo in consortium.silos.values():
        reason = silo.wait_for("waiting")["reason"]
        assert reason.startswith("CannotWrite: the aggregator answers: ")
    assert not aggregator.said("accepts")
    aggregator.wait_for("turned_away", error="CannotWrite")
    limit_files(aggregator, resource.RLIM_INFINITY)
    consortium.finish()
    require_everything_counted_once(consortium)
    assert len(aggregator.said("accepts")) == 18


def test_an_aggregator_that_cannot_keep_a_model_says_so_and_goes_on_when_it_can(
    consortium_of: Callable[..., Consortium],
) -> None:
    consortium = consortium_of(schedule=ONE_STEP)
    in_the_way = consortium.state("aggregator") / "models"
    in_the_way.parent.mkdir()
    in_the_way.touch()
    aggregator = consortium.start().aggregator
    waiting = aggregator.wait_for("cannot_write", count=2)
    assert str(in_the_way) in waiting["reason"]
    of_the_keys, note = ask_status(consortium.kits / "operator" / "operator.yaml").notes
    assert "pose" in of_the_keys
    assert str(in_the_way) in note, "it serves all the while, and says why it stands"
    in_the_way.unlink()
    consortium.finish()
    require_everything_counted_once(consortium)
    stages = [line["stage"] for line in audit_lines(consortium, "aggregator", "stage")]
    assert stages == ["warm_start", "warm_start", "phase_1"], "once more when it went on, however often it was tried"
