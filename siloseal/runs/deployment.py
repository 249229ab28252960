"""Starts the two sides of a deployment from their files."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import torch
from threadpoolctl import threadpool_limits

from siloseal.aggregator.config import AggregatorConfig
from siloseal.aggregator.deployed import DeployedAggregator, Ended
from siloseal.federation.config.loading import load_config
from siloseal.federation.config.paths import expand
from siloseal.federation.config.section import placed
from siloseal.federation.errors import AuditDamaged, ConfigError
from siloseal.federation.job.sections.data import AtSilos
from siloseal.federation.randomness import Randomness, SecureRandomness
from siloseal.federation.records.audit import AuditLog, entries, head_path
from siloseal.federation.records.storage import make_folder
from siloseal.federation.run_events.lines import record_in
from siloseal.federation.run_events.silo import JobAccepted
from siloseal.federation.run_events.stream import EventStream, Subscriber, unheard
from siloseal.models.user_code.places import look_in
from siloseal.runs.aggregator_report import AggregatorRecorder
from siloseal.runs.prometheus import AggregatorNumbers, SiloNumbers, metrics_page
from siloseal.silo.config import SiloConfig
from siloseal.silo.deployed import DeployedSilo
from siloseal.silo.handover import Handover
from siloseal.silo.participation import Participation
from siloseal.silo.public_start import public_sum
from siloseal.silo.status import SiloStatus

AUDIT_FILE = "audit.jsonl"


def run_aggregator(path: Path, show: Subscriber = unheard) -> Ended:
    """Serve the run that this file describes to its end; `show` hears of what is in the audit log."""
    config = placed(load_config(AggregatorConfig, path), path.resolve().parent)
    _look_in(config.code)
    with _audit_log(config.state, "aggregator") as log, threadpool_limits(1):
        torch.set_num_threads(1)
        events = EventStream(record_in(log))
        aggregator = DeployedAggregator(config, public_sum=partial(public_sum, own=AtSilos()), events=events)
        recorder = AggregatorRecorder(aggregator.job, config.state, aggregator.run_id)
        events.subscribe(recorder.hear)
        events.subscribe(show)
        try:
            with metrics_page(config.metrics, AggregatorNumbers(aggregator.status.report)):
                return aggregator.run(recorder.write)
        finally:
            aggregator.close()


def run_silo(path: Path, show: Subscriber = unheard, *, randomness: Randomness | None = None) -> Participation:
    """Take part in the run that the aggregator of this file serves; `show` hears of what is in the audit log."""
    config = placed(load_config(SiloConfig, path), path.resolve().parent)
    _look_in(config.code)
    with threadpool_limits(1), open_silo(config, show, randomness=randomness) as silo:
        torch.set_num_threads(1)
        return silo.serve()


@contextmanager
def open_silo(
    config: SiloConfig, show: Subscriber, *, randomness: Randomness | None = None, script: Handover | None = None
) -> Iterator[DeployedSilo]:
    """A silo that can serve, with its audit log and its page for Prometheus.

    With a `script` it averages what that hands over.
    """
    with _audit_log(config.state, config.name) as log:
        lines = [entry for entry in entries(config.state / AUDIT_FILE) if entry.event == JobAccepted.NAME]
        past, status = {str(line.fields["run"]) for line in lines}, SiloStatus()
        silo = DeployedSilo(
            config,
            randomness=randomness or SecureRandomness(),
            publish=EventStream(record_in(log), status.hear, show).publish,
            past_runs=past,
            script=script,
        )
        try:
            with metrics_page(config.metrics, SiloNumbers(status)):
                yield silo
        finally:
            silo.close()


def _look_in(code: Path | None) -> None:
    """Look for code of the user's own in the folder that the party's file names."""
    if code is None:
        return
    if not (folder := expand(code)).is_dir():
        raise ConfigError(f"code is {code}, which is no folder here; correct it, or leave it out")
    look_in(folder)


def _audit_log(state: Path, who: str) -> AuditLog:
    make_folder(state, mode=0o700)
    _require_its_log(state)
    return AuditLog(state / AUDIT_FILE, who=who)


def _require_its_log(state: Path) -> None:
    """Require the folder's log. A new log begins only in a new folder, before anything else is written there."""
    log = state / AUDIT_FILE
    if head_path(log).exists() or (log.exists() and log.stat().st_size > 0):
        return  # what may be wrong with them, the log says when it is opened
    if found := [name for name in ("journal.sqlite", "runs") if _holds_something(state / name)]:
        raise AuditDamaged(
            f"{log} and its head are gone, but {found[0]} beside them shows that there was a log; restore both from a "
            "backup: a new log would hide what happened before it"
        )


def _holds_something(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists()
