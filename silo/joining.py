"""How a deployed silo joins a job that it was offered, if its own data fit and its policy allows it."""

from collections.abc import Mapping
from pathlib import Path
from typing import assert_never

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import AnalyticsJob, CsvTables
from siloseal.federation.errors import DataError, PolicyRefused, SessionMismatch
from siloseal.federation.job.job import Job
from siloseal.federation.job.releases import NOTHING_TRAINED, Lengths
from siloseal.federation.job.sections.learners import require_single_copies
from siloseal.federation.job.sections.privacy import UnitLevel
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.run_events.stream import Subscriber
from siloseal.models.building import vector_lengths
from siloseal.silo.config import SiloConfig
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.own import Records
from siloseal.silo.data.tables import Table, image_table
from siloseal.silo.opening import open_query_silo, open_training_silo
from siloseal.silo.policy import check_policy, require_allowed_code, spent_in
from siloseal.silo.public_start import require_not_own
from siloseal.silo.runtime import Silo


def join(
    job: AnyJob,
    config: SiloConfig,
    data: Records,
    folder: Path,
    *,
    other_runs: list[Path],
    identity: Identity,
    roster: Mapping[str, bytes],
    randomness: Randomness,
    publish: Subscriber,
) -> Silo:
    """The silo of this job, or a typed error with the reason why there is none.

    `other_runs` are the folders of all other runs that the silo has taken part in, whose cost counts.
    """
    _require_known(job, config, roster)
    match job:
        case AnalyticsJob():
            _require_single_copies(job, config, private=True)
            _require_allowed(job, config, other_runs, NOTHING_TRAINED)
            table = data if isinstance(data, Table) else image_table(data)
            return open_query_silo(job, table, folder, identity=identity, roster=roster, randomness=randomness)
        case Job():
            require_allowed_code(config.policy, job, silo=config.name)
            images = _images(job, config, data)
            lengths = vector_lengths(job, images.shape, images.classes)
            _require_allowed(job, config, other_runs, lengths)
            return open_training_silo(
                job,
                images,
                folder,
                lengths=lengths,
                labels=range(images.classes) if config.classes is None else config.classes,
                identity=identity,
                roster=roster,
                randomness=randomness,
                publish=publish,
            )
        case _:
            assert_never(job)


def _require_allowed(job: AnyJob, config: SiloConfig, other_runs: list[Path], lengths: Lengths) -> None:
    """`PolicyRefused` unless the silo's policy allows the job, on top of what the silo spent in other runs."""
    spent = spent_in(other_runs, config.name)
    check_policy(config.policy, job, silo=config.name, lengths=lengths, spent=spent)


def _images(job: Job, config: SiloConfig, data: Records) -> Examples:
    """The silo's images, if the job may train on them."""
    if isinstance(data, Table):
        raise DataError(
            f"{config.name} holds a table of records, but the job {job.name} trains on images; give the silo "
            "images under data in its silo.yaml, or ask it queries"
        )
    _require_single_copies(job, config, private=isinstance(job.privacy, UnitLevel))
    if job.warm_start.kind == "public" and not isinstance(config.data, CsvTables):
        require_not_own(job.warm_start, own=config.data)
    return data


def _require_known(job: AnyJob, config: SiloConfig, roster: Mapping[str, bytes]) -> None:
    if config.name not in job.silos.names:
        raise SessionMismatch(f"{config.name} is not among the job's silos, {', '.join(job.silos.names)}")
    if strangers := set(job.silos.names) - set(roster):
        raise SessionMismatch(
            f"the job names {', '.join(sorted(strangers))}, whom this silo's roster does not know; provision again"
        )


def _require_single_copies(job: AnyJob, config: SiloConfig, *, private: bool) -> None:
    if isinstance(config.data, CsvTables):
        return  # each line of a table is one record
    try:
        require_single_copies(config.data, private=private)
    except ValueError as error:
        raise PolicyRefused(f"{config.name} cannot take part in the job {job.name}: {error}") from error
