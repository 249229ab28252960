"""Bars of bytes and seconds: what is added up, which bar is named, and which are left out."""

import re

from siloseal.federation.job.phases import Phase
from siloseal.report import charts
from siloseal.report.cost_charts import MOST_BARS, timing_chart, traffic_charts
from siloseal.run_folder.metrics import TimingMetric, TrafficMetric


def traffic(phase: Phase, silo: str, sent: int, received: int = 0) -> TrafficMetric:
    return TrafficMetric(stage=phase, silo=silo, sent_bytes=sent, received_bytes=received)


def test_bytes_of_both_directions_are_added_up_by_phase_and_by_silo() -> None:
    entries = [
        traffic(Phase.PHASE_1, "north", 1_000_000, 2_000_000),
        traffic(Phase.PHASE_1, "east", 1_000_000),
        traffic(Phase.PHASE_2, "north", 2_000_000),
    ]
    phases, silos = traffic_charts(entries)
    assert [figure.name for figure in (phases, silos)] == ["traffic-phases", "traffic-silos"]
    assert re.search(" 4 MB, .*Phase 1$", phases.message)
    assert re.search(" 5 MB, .*north$", silos.message)


def test_of_many_silos_those_with_most_bytes_are_drawn() -> None:
    _, silos = traffic_charts([traffic(Phase.PHASE_1, f"silo{n}", n) for n in range(1, MOST_BARS + 3)])
    drawn = {part.split()[0] for part in silos.caption.split(". ")[0].split("; ")}
    assert drawn == {f"silo{n}" for n in range(3, MOST_BARS + 3)}


def test_nothing_measured_is_nothing_drawn() -> None:
    assert traffic_charts([]) == ()
    assert timing_chart([]) is None


def test_the_longest_phase_is_named() -> None:
    figure = timing_chart([TimingMetric(stage="phase_1", seconds=2.0), TimingMetric(stage="phase_2", seconds=90.0)])
    assert figure is not None
    assert figure.message.startswith("Phase 2 ")


def test_no_tick_stands_beyond_the_longest_bar_where_its_number_would_be_cut() -> None:
    with charts.style():
        figure = timing_chart([TimingMetric(stage="phase_1", seconds=1.26)])
    assert figure is not None
    ticks = [float(text) for text in re.findall(r">(\d\.\d)<", figure.svg.decode())]
    assert max(ticks) == 1.2
