"""Bytes are added up by stage and silo, and begin at nothing when a run is played again."""

from siloseal.aggregator.traffic import Counted, Traffic
from siloseal.federation.run_events.aggregator import StageBegan
from siloseal.federation.run_events.coordination import BytesCounted, RunBegan


def test_the_bytes_of_a_silo_add_up_within_a_stage() -> None:
    traffic = Traffic()
    for event in (
        BytesCounted("enrolment", "north", sent_bytes=10, received_bytes=1),
        BytesCounted("enrolment", "east", sent_bytes=20, received_bytes=2),
        StageBegan("phase_1"),
        BytesCounted("enrolment", "north", sent_bytes=30, received_bytes=3),
        BytesCounted("phase_1", "north", sent_bytes=40, received_bytes=4),
    ):
        traffic.hear(event)
    assert traffic.counted() == [
        Counted("enrolment", "north", sent_bytes=40, received_bytes=4),
        Counted("enrolment", "east", sent_bytes=20, received_bytes=2),
        Counted("phase_1", "north", sent_bytes=40, received_bytes=4),
    ]


def test_a_run_that_is_played_again_is_counted_anew() -> None:
    traffic, counted = Traffic(), BytesCounted("enrolment", "north", sent_bytes=10, received_bytes=1)
    for event in (RunBegan(), counted, RunBegan(), counted):
        traffic.hear(event)
    assert traffic.counted() == [Counted("enrolment", "north", sent_bytes=10, received_bytes=1)]
