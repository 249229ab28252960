"""The secure sums side by side: bytes of whole jobs, and work, memory and exactness of a single sum."""

import statistics
from collections.abc import Callable, Sequence

from siloseal.experiments.comparison.rows import Label, Measured
from siloseal.experiments.report.averages import a_silo, at, choices, is_number, kind_of, numbers, totals
from siloseal.experiments.report.chapters import sums_figures
from siloseal.experiments.report.chapters.draft import Album, Draft, Part
from siloseal.experiments.report.chapters.words import BYTES, missing, text_of
from siloseal.federation.sums.config import exposures
from siloseal.report import wording
from siloseal.report.document import Table

LEAD = (
    "The same sum through every scheme: what travels in a whole job, what a single sum costs a silo and the "
    "aggregator, who learns what, and what happens when a silo falls silent."
)
NOTES = (
    "Seconds are processor time of one thread. Memory is what the process of all parties grew by, so it holds every "
    "silo's side and the aggregator's.",
    "Among more silos than a curve reaches its scheme was not measured.",
    "Who learns what follows from the schemes and is not measured; the dropout columns are.",
)

NOT_KNOWN = ("not described here",) * 3
"""The words for a sum that no job can choose."""

MOST_SILOS = 8
"""Most silos of a job that are listed one by one."""


def draft(cells: Sequence[Measured], album: Album) -> Draft:
    """Draft the chapter: jobs and single sums, which differ by their phases."""
    known = [cell for cell in cells if "sum" in cell.labels]
    jobs = [cell for cell in known if sum(sums_figures.a_silo_in_phases([cell]))]
    single = [cell for cell in known if cell.find("silo_seconds") or cell.find("error")]
    parts: list[Part] = [
        sums_figures.phases(jobs, album) if jobs else missing("bytes by phase", "whole jobs with label `sum`")
    ]
    parts += [by_silo(jobs)] if jobs else []
    if single:
        drawn = [cell for cell in single if is_number(cell.labels.get("silos", ""))]
        parts += [sums_figures.upload(drawn, album), sums_figures.work(drawn, album), sums_figures.memory(drawn, album)]
        parts.append(costs(single))
    else:
        parts.append(missing("what a single sum costs", "cells of `kind: sum` with labels `sum` and `silos`"))
    parts += [knowledge(known)] if known else []
    return Draft("Secure sums", LEAD, ("sum", "silos"), [*parts, *NOTES])


def by_silo(cells: Sequence[Measured]) -> Table:
    """Return the bytes of whole jobs by silo: the silos of some sums do not all send alike."""
    rows = []
    for scheme in choices(cells, "sum"):
        there = at(cells, sum=scheme)
        names = dict.fromkeys(row.silo for cell in there for row in cell.find("sent_bytes"))
        sends = sorted(names, key=lambda silo: sum(totals(there, ["sent_bytes"], silo=silo)))
        for silo in names if len(names) <= MOST_SILOS else dict.fromkeys((sends[0], sends[-1])):
            counts = [totals(there, [measure], silo=silo) for measure in BYTES]
            rows.append((text_of(scheme), silo, *(shown(values, wording.size) for values in counts)))
    caption = f"Bytes of each silo in a whole job; of more than {MOST_SILOS}, those that send least and most"
    return Table(caption, ("sum", "silo", "sends", "receives"), tuple(rows), (2, 3))


def costs(cells: Sequence[Measured]) -> Table:
    """Return the table of all numbers of the single sums."""
    rows = []
    for scheme in choices(cells, "sum"):
        for silos in choices(at(cells, sum=scheme), "silos") or [""]:
            there = at(cells, sum=scheme, silos=silos) if silos else at(cells, sum=scheme)
            rows.append((text_of(scheme), text_of(silos), *cost_line(there)))
    columns = ("sum", "silos", "a silo sends", "receives", "a silo's work", "aggregator's work", "memory", "error")
    return Table("One sum, means over seeds; the error is the largest of any entry", columns, tuple(rows),
                 tuple(range(1, len(columns))))  # fmt: skip


def cost_line(cells: Sequence[Measured]) -> tuple[str, ...]:
    """Return the line of what one scheme costs among this many silos."""
    sent, received = a_silo(cells, ["sent_bytes"]), a_silo(cells, ["received_bytes"])
    silo, aggregator = totals(cells, ["silo_seconds"]), totals(cells, ["aggregator_seconds"])
    memory, errors = numbers(cells, "peak_bytes"), numbers(cells, "error")
    return (
        shown(sent, wording.size), shown(received, wording.size),
        shown(silo, wording.duration), shown(aggregator, wording.duration),
        shown(memory, wording.size), shown([max(errors)] if errors else [], lambda value: f"{value:.1e}"),
    )  # fmt: skip


def shown(values: Sequence[float], write: Callable[[float], str]) -> str:
    """Return the mean of the numbers, in words."""
    return write(statistics.fmean(values)) if values else "not measured"


def knowledge(cells: Sequence[Measured]) -> Table:
    """Return the table of who learns what, and what was seen to happen without a silo."""
    exposed = exposures()
    rows = []
    for scheme in choices(cells, "sum"):
        known = exposed.get(kind_of(at(cells, sum=scheme), "secure_sum"))
        words = (known.aggregator_learns, known.colluders, known.assumes or "nothing") if known else NOT_KNOWN
        outcomes = [outcome(cells, scheme, f"dropout_{when}_upload") for when in ("before", "after")]
        rows.append((text_of(scheme), *words, *outcomes))
    columns = ("sum", "the aggregator learns", "silos that may collude with it", "this assumes",
               "silent before its upload", "silent after it")  # fmt: skip
    return Table("Who learns what, and what a dropout does", columns, tuple(rows))


def outcome(cells: Sequence[Measured], scheme: Label, measure: str) -> str:
    """Say what a silent silo did to the sum, in the cells that tried."""
    tried = [cell for cell in at(cells, sum=scheme) if cell.find(measure)]
    lost = [cell for cell in tried if not cell.value(measure)]
    if not tried:
        return "not tried"
    if len(lost) in (0, len(tried)):
        return "no sum, an error" if lost else "the sum comes out"
    where = " and ".join(text_of(silos) for silos in choices(lost, "silos"))
    return (
        f"the sum comes out, but not among {where} silos" if where else f"no sum in {len(lost)} of {len(tried)} cells"
    )
