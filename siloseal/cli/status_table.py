"""How far a run is, for a person: what an aggregator answers to `siloseal status`."""

import time

from rich.console import Console

from siloseal.federation.transport.wire import consortium_pb2 as pb
from siloseal.report import wording
from siloseal.report.document import Table
from siloseal.report.terminal import print_line, print_table
from siloseal.run_folder.metrics import phase_title


def print_status(report: pb.StatusReport) -> None:
    """Print the report for a person."""
    console = Console(highlight=False)
    rounds = f", round {report.round} of {report.rounds}" if report.round else ""
    print_line(
        console,
        f"{report.job}: {phase_title(report.phase)}{rounds}; request {report.request} ({report.asked}); "
        f"serving for {wording.duration(report.seconds)}",
    )
    print_table(console, _silos(report))
    for note in report.notes:
        print_line(console, f"note: {note}")


def _silos(report: pb.StatusReport) -> Table:
    rows = tuple(
        (
            silo.silo,
            "yes" if silo.attending else "no",
            f"{wording.duration(max(0.0, time.time() - silo.last_seen))} ago" if silo.last_seen else "never",
            "no" if silo.answered else "yes",
            wording.size(silo.sent_bytes),
            wording.size(silo.received_bytes),
            wording.epsilon(silo.epsilon_spent),
            silo.trouble,
        )
        for silo in report.silos
    )
    columns = ("silo", "here", "last seen", "owes a reply", "sent", "received", "epsilon released, at most", "trouble")
    return Table("", columns, rows)
