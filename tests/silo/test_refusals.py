"""A refusal tells the aggregator its code, and words only where they cannot hold anything of the data."""

from pathlib import Path

import pytest

from siloseal.federation import errors
from siloseal.federation.transport.wire.error_codes import CODES
from siloseal.federation.transport.wire.errors_pb2 import ErrorCode
from siloseal.silo.refusals import refusal

HARMLESS = {
    errors.MessageError, errors.MessageTooLarge, errors.VersionMismatch, errors.SessionMismatch, errors.WrongRound,
    errors.PolicyRefused,
}  # fmt: skip
PRIVATE = "an example of patient 17"


@pytest.mark.parametrize("kind", list(CODES), ids=lambda kind: kind.__name__)
def test_every_error_has_its_code_and_its_words_leave_only_where_they_are_about_messages_or_policy(
    kind: type[errors.SiloSealError], tmp_path: Path
) -> None:
    said = refusal(kind(PRIVATE), tmp_path / "refusals.log")
    assert said.code == CODES[kind]
    assert (PRIVATE in said.message) == (kind in HARMLESS)
    assert kind in HARMLESS or kind.__name__ in said.message
    assert (tmp_path / "refusals.log").read_text() == f"{kind.__name__}: {PRIVATE}\n"


def test_a_bug_is_refused_without_its_words_and_its_traceback_stays_in_the_log(tmp_path: Path) -> None:
    said = refusal(ZeroDivisionError(PRIVATE), tmp_path / "refusals.log", f"Traceback: {PRIVATE}")
    assert said.code == ErrorCode.OTHER_ERROR
    assert PRIVATE not in said.message
    assert (tmp_path / "refusals.log").read_text() == f"Traceback: {PRIVATE}\n"


def test_the_log_grows_and_only_the_silo_may_read_it(tmp_path: Path) -> None:
    log = tmp_path / "refusals.log"
    for number in range(3):
        refusal(errors.WrongRound(str(number)), log)
    assert log.read_text().splitlines() == [f"WrongRound: {number}" for number in range(3)]
    assert log.stat().st_mode & 0o777 == 0o600
