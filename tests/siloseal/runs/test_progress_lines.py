"""Progress in a log file or a pipe: few lines, and never silence for long. The clock is the test's."""

from siloseal.runs.progress_lines import LINE_SECONDS, ProgressLines


class Said:
    def __init__(self) -> None:
        self.now, self.lines = 1000.0, list[str]()
        self.progress = ProgressLines(self.lines.append, clock=lambda: self.now)


def test_a_stage_is_said_at_once_however_soon_it_comes_after_the_last() -> None:
    said = Said()
    said.progress.begin("Warm start")
    said.progress.begin("Phase 1")
    assert said.lines == ["Warm start ...", "Phase 1 ..."]


def test_within_a_stage_the_newest_progress_is_said_every_half_minute() -> None:
    said = Said()
    said.progress.begin("Phase 1")
    for step in range(1, 121):  # one a second
        said.now += 1
        said.progress.progress(f"step {step}")
    assert said.lines == ["Phase 1 ...", "step 30", "step 60", "step 90", "step 120"]


def test_what_came_too_soon_is_said_when_there_is_room_and_once() -> None:
    said = Said()
    said.progress.begin("Phase 1")
    said.progress.progress("step 1")
    said.progress.progress("step 2")
    said.progress.beat()
    assert said.lines == ["Phase 1 ..."]
    said.now += LINE_SECONDS
    said.progress.beat()
    said.progress.beat()
    assert said.lines == ["Phase 1 ...", "step 2"]


def test_work_that_reports_nothing_still_shows_that_it_goes_on() -> None:
    said = Said()
    said.progress.begin("Phase 1")
    for _ in range(7):
        said.now += LINE_SECONDS / 2
        said.progress.beat()
    assert said.lines == ["Phase 1 ...", "Phase 1: 30 s", "Phase 1: 1 min 00 s", "Phase 1: 1 min 30 s"]


def test_a_new_stage_forgets_what_was_not_said_of_the_last() -> None:
    said = Said()
    said.progress.begin("Warm start")
    said.progress.progress("fitting")
    said.progress.begin("Phase 1")
    said.now += LINE_SECONDS
    said.progress.beat()
    assert said.lines == ["Warm start ...", "Phase 1 ...", "Phase 1: 30 s"]
