"""A silo's process: what it does beside answering."""

import threading
from typing import Any

import pytest

from siloseal.federation.errors import Unreachable
from siloseal.silo import deployed

PATIENCE_SECONDS = 30


class Line:
    """A line to an aggregator that is never there. It counts the calls, and knows the thread that makes them."""

    def __init__(self) -> None:
        self.calls = 0
        self.often = threading.Event()

    def offer(self) -> None:
        self.calls += 1
        self.thread = threading.current_thread()
        if self.calls == 3:
            self.often.set()
        raise Unreachable("nobody is there")


def test_a_silo_at_work_calls_again_and_again_and_stops_with_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployed, "IN_TOUCH_SECONDS", 0.001)
    line: Any = Line()
    with deployed._in_touch(line):
        assert line.often.wait(PATIENCE_SECONDS)
        assert line.thread is not threading.current_thread()
    assert not line.thread.is_alive()
