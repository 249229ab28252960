"""One silo in a job of averages: what it hands over, what it keeps for a crash, and which lies it refuses."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from siloseal.federation.averages.config import AverageJob
from siloseal.federation.averages.mean import Mean
from siloseal.federation.averages.releases import average_release, start_of
from siloseal.federation.averages.structure import Structure
from siloseal.federation.errors import (
    MessageError,
    RunError,
    SessionMismatch,
    SiloSealError,
    WrongContributors,
    WrongRound,
)
from siloseal.federation.job.releases import Run
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.silo.agreed_session import require_agreed
from siloseal.silo.averages import LAST_FILE, SiloAverages
from siloseal.silo.handover import Contribution, Handover
from siloseal.silo.opening import open_averaging_silo
from siloseal.silo.runtime import Silo
from siloseal.silo.state import SiloState

NAMES = ("north", "east", "south")
JOB = AverageJob.model_validate(
    {"name": "a", "silos": {"names": NAMES}, "secure_sum": {"kind": "secagg"}, "averages": 3}
)
IDENTITIES = {name: Identity.create(name) for name in NAMES}
ROSTER = {name: one.public for name, one in IDENTITIES.items()}
RUN = Run(bytes(32), ROSTER)
STRUCTURE = Structure.of(["'a' of float32 (2,)"], 2)
GIVEN = Contribution(STRUCTURE, np.array([0.25, -0.5, 0.5]))


class Ready(Handover):
    """A handover whose script has always something to give, or has left."""

    def __init__(self, given: Contribution | None = GIVEN) -> None:
        super().__init__()
        self._always = given

    def take(self) -> Contribution | None:
        return self._always


def mean(round: int, value: float = 0.5) -> Mean:
    return Mean(round, np.array([value, 0.25], dtype=np.float32), NAMES, 1e-6)


def asked(round: int, *, number: int, last: Mean | None = None) -> pb.Request:
    wire = None if last is None else last.to_wire()
    return pb.Request(number=number, average=pb.Average(round=round, last=wire))


def opened(folder: Path, handover: Handover) -> Silo:
    silo = open_averaging_silo(
        JOB, handover, folder, identity=IDENTITIES["north"], roster=ROSTER, randomness=SeededRandomness(0)
    )
    silo.at = SiloState(folder).load() or silo.at  # as `resume` does, which also looks for replies
    silo.work.load_state(silo.at.tensors)
    return silo


def test_it_says_the_structure_and_contributes_what_the_script_gave(tmp_path: Path) -> None:
    handover = Ready()
    silo = opened(tmp_path, handover)
    prepared = silo.work.prepare(asked(0, number=4), silo, RUN)
    assert Structure.from_wire(prepared.structure, "north") == STRUCTURE
    assert silo.work.vector(silo.at).tolist() == GIVEN.vector.tolist()
    assert silo.at.start == start_of(JOB, 0, STRUCTURE, None)
    assert silo.work.release(silo.at) == average_release(JOB, 0, 2)
    assert handover.job() == JOB
    assert silo.ledger is None


def test_the_script_is_told_the_last_average_before_it_gives_the_next(tmp_path: Path) -> None:
    handover = Ready()
    silo = opened(tmp_path, handover)
    silo.work.prepare(asked(0, number=4), silo, RUN)
    silo.work.prepare(asked(1, number=9, last=mean(0)), silo, RUN)
    assert handover.rounds == 1
    assert silo.at.start == start_of(JOB, 1, STRUCTURE, mean(0))
    silo.work.finish(pb.Finish(last=mean(1, 0.75).to_wire(), words="all scripts have left"))
    assert handover.rounds == 2
    with pytest.raises(RunError):
        handover.average(GIVEN)


def test_after_a_kill_what_was_given_before_counts_and_not_what_is_given_after(tmp_path: Path) -> None:
    silo = opened(tmp_path, Ready())
    silo.work.prepare(asked(0, number=4), silo, RUN)
    silo.work.prepare(asked(1, number=9, last=mean(0)), silo, RUN)
    again = Ready(Contribution(Structure.of(["'b' of float32 (5,)"], 5), np.ones(6)))
    restarted = opened(tmp_path, again)
    prepared = restarted.work.prepare(asked(1, number=9, last=mean(0)), restarted, RUN)
    assert Structure.from_wire(prepared.structure, "north") == STRUCTURE
    assert restarted.work.vector(restarted.at).tolist() == GIVEN.vector.tolist()
    assert again.rounds == 1
    assert again.last is not None
    assert again.last.values.tolist() == [0.5, 0.25]


def test_a_script_that_has_left_prepares_nothing_for_a_sum(tmp_path: Path) -> None:
    silo = opened(tmp_path, Ready(None))
    assert silo.work.prepare(asked(0, number=4), silo, RUN) == pb.Prepared(leaves=True)
    assert silo.at.prepared == ""
    with pytest.raises(WrongRound):
        silo.work.vector(silo.at)


def test_silos_that_were_told_different_averages_are_in_different_sessions(tmp_path: Path) -> None:
    silo = opened(tmp_path, Ready())
    silo.work.prepare(asked(0, number=4), silo, RUN)
    silo.work.prepare(asked(1, number=9, last=mean(0)), silo, RUN)
    release = silo.work.release(silo.at)
    require_agreed(release.session(RUN, start_of(JOB, 1, STRUCTURE, mean(0))), release, RUN, silo.at.start)
    for other in (mean(0, 0.75), None):
        lie = release.session(RUN, start_of(JOB, 1, STRUCTURE, other))
        with pytest.raises(SiloSealError):
            require_agreed(lie, release, RUN, silo.at.start)


@pytest.mark.parametrize(
    ("lie", "error"),
    [
        (lambda: pb.Request(number=9, train=pb.Train()), MessageError),
        (lambda: asked(0, number=9), WrongRound),
        (lambda: asked(3, number=9, last=mean(2)), WrongRound),
        (lambda: asked(1, number=9), WrongRound),
        (lambda: asked(2, number=9, last=mean(0)), WrongRound),
        (lambda: asked(1, number=4, last=mean(0)), WrongRound),
        (lambda: asked(1, number=9, last=mean(0, 65.0)), MessageError),
        (lambda: asked(1, number=9, last=Mean(0, mean(0).values, ("north",), 0.0)), WrongContributors),
    ],
)
def test_a_request_that_the_job_does_not_have_next_is_refused(
    tmp_path: Path, lie: Callable[[], pb.Request], error: type[SiloSealError]
) -> None:
    handover = Ready()
    silo = opened(tmp_path, handover)
    silo.work.prepare(asked(0, number=4), silo, RUN)
    with pytest.raises(error):
        silo.work.prepare(lie(), silo, RUN)
    assert handover.rounds == 0


def test_the_last_average_of_a_run_is_found_again_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    silo = opened(tmp_path, Ready())
    silo.work.finish(pb.Finish(last=mean(2).to_wire(), words="it has made all of its 3 averages"))
    again = Ready()
    opened(tmp_path, again)
    assert (again.rounds, again.job()) == (3, JOB)
    path = tmp_path / LAST_FILE
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(RunError):
        opened(tmp_path, Ready())


def test_a_script_of_one_run_is_told_nothing_of_another(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.mkdir(), second.mkdir()
    earlier = opened(second, Ready())
    earlier.work.finish(pb.Finish(last=mean(2).to_wire(), words="it has made all of its 3 averages"))
    handover = Ready()
    opened(first, handover)
    opened(first, handover)
    with pytest.raises(SessionMismatch):
        opened(second, handover)
    assert (handover.rounds, handover.ended) == (0, True)


def test_nothing_is_described_at_enrolment(tmp_path: Path) -> None:
    enrolled = pb.Enrolled()
    SiloAverages(JOB, "north", Handover(), tmp_path).describe(enrolled)
    assert enrolled == pb.Enrolled()
