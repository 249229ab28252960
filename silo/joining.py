"""How a deployed silo joins a job that it was offered, if its own data fit and its policy allows it."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import assert_never

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.errors import DataError, PolicyRefused, SessionMismatch
from siloseal.federation.job.job import Job
from siloseal.federation.job.releases import NOTHING_TRAINED, Lengths
from siloseal.federation.job.sections.learners import require_single_copies
from siloseal.federation.job.sections.privacy import UnitLevel
from siloseal.federation.job.sections.tables import CsvTables
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.run_events.stream import Subscriber
from siloseal.federation.shapes import Shape
from siloseal.models.building import initial_model, vector_lengths
from siloseal.models.user_code.pinning import weights_of
from siloseal.silo.config import OwnScript, SiloConfig
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.own import Records
from siloseal.silo.data.records import encode
from siloseal.silo.data.tables import Table, example_table
from siloseal.silo.earlier_runs import spent_in
from siloseal.silo.handover import Handover
from siloseal.silo.opening import Allow, open_averaging_silo, open_query_silo, open_training_silo
from siloseal.silo.own_weights import require_own_weights
from siloseal.silo.policy import allow, check_policy, require_allowed_code
from siloseal.silo.public_start import require_other_package
from siloseal.silo.runtime import Silo
from siloseal.silo.training.device import training_device


def join(
    job: AnyJob,
    config: SiloConfig,
    data: Records | Handover,
    folder: Path,
    *,
    other_runs: list[Path],
    identity: Identity,
    roster: Mapping[str, bytes],
    randomness: Randomness,
    publish: Subscriber,
) -> Silo:
    """The silo of this job, or a typed error with the reason why there is none.

    `data` are the silo's records, or the place where a script of the silo hands over what it has trained itself.
    `other_runs` are the folders of all other runs that the silo has taken part in, whose cost counts.
    """
    _require_known(job, config, roster)
    match job:
        case AverageJob():
            _require_allowed(job, config, other_runs, NOTHING_TRAINED)
            script = _script(job, config, data)
            return open_averaging_silo(job, script, folder, identity=identity, roster=roster, randomness=randomness)
        case AnalyticsJob():
            _require_single_copies(job, config, private=True)
            allowed = _require_allowed(job, config, other_runs, NOTHING_TRAINED)
            records = _records(job, config, data)
            table = records if isinstance(records, Table) else example_table(records)
            return open_query_silo(
                job, table, folder, identity=identity, roster=roster, randomness=randomness, allow=allowed
            )
        case Job():
            require_allowed_code(config.policy, job, silo=config.name)
            records = _records(job, config, data)
            lengths = vector_lengths(job, *_shape_and_classes(job, config, records))
            allowed = _require_allowed(job, config, other_runs, lengths)
            # Only now: weights that a stranger's job names, and columns that it declares, would else ask what is here.
            examples = _examples(job, config, records)
            _require_weights(job, config, examples)
            return open_training_silo(
                job,
                examples,
                folder,
                lengths=lengths,
                labels=range(examples.classes) if config.classes is None else config.classes,
                identity=identity,
                roster=roster,
                randomness=randomness,
                publish=publish,
                device=training_device(config.device),
                allow=allowed,
            )
        case _:
            assert_never(job)


def _require_allowed(job: AnyJob, config: SiloConfig, other_runs: list[Path], lengths: Lengths) -> Allow:
    """`PolicyRefused` unless the silo's policy allows the job, on top of what the silo spent in other runs.

    The policy's decision on what the job plans comes later, when that is known.
    """
    spent = spent_in(other_runs, config.name)
    check_policy(config.policy, job, silo=config.name, lengths=lengths, spent=spent)
    return partial(allow, config.policy, job, silo=config.name, spent=spent)


def _require_weights(job: Job, config: SiloConfig, examples: Examples) -> None:
    """Refuse weights that are not here or do not fit: the policy has been asked, and nothing is written yet."""
    if weights_of(job.learner) is not None:
        require_own_weights(job.learner, config.code)
        initial_model(job, examples.shape, examples.classes)


def _script(job: AverageJob, config: SiloConfig, data: Records | Handover) -> Handover:
    """The place where the silo's script hands over; `siloseal silo` has none."""
    if isinstance(data, Handover):
        return data
    raise PolicyRefused(
        f"the job {job.name} averages what a script of {config.name} trains, but here no script runs; in place of "
        f"`siloseal silo` start the script, which calls siloseal.open_session with {config.name}'s silo.yaml"
    )


def _records(job: AnyJob, config: SiloConfig, data: Records | Handover) -> Records:
    """The silo's records; a script has its own, which nobody else reads."""
    if not isinstance(data, Handover):
        return data
    raise PolicyRefused(
        f"a script of {config.name} waits for a job of averages, but the job {job.name} works on the silo's records; "
        "run `siloseal silo` in place of the script"
    )


def _shape_and_classes(job: Job, config: SiloConfig, data: Records) -> tuple[Shape, int]:
    """What the job's networks are built for. Of a table the job's declaration says it, and no record is looked at."""
    declared = job.data.declared
    if isinstance(data, Table):
        if declared is None:
            raise DataError(
                f"{config.name} holds a table of records, but the job {job.name} declares no columns; declare "
                "data.columns and data.target in the job, give the silo images or arrays under data in its silo.yaml, "
                "or ask it queries"
            )
        return (declared.inputs,), declared.target.classes
    if declared is not None:
        raise DataError(
            f"{config.name} holds images or arrays, but the job {job.name} declares the columns of a table; give the "
            "silo a table under data in its silo.yaml, or leave data.columns and data.target out of the job"
        )
    return data.shape, data.classes


def _examples(job: Job, config: SiloConfig, data: Records) -> Examples:
    """The silo's examples, if the job may train on them; those of a table by the columns that the job declares."""
    if isinstance(data, Examples):
        _require_single_copies(job, config, private=isinstance(job.privacy, UnitLevel))
        if job.warm_start.kind == "public" and not isinstance(config.data, CsvTables | OwnScript):
            require_other_package(job.warm_start, own=config.data)
        return data
    if job.data.declared is None:
        raise AssertionError("a table without declared columns has no shape")
    return encode(data, job.data.declared)


def _require_known(job: AnyJob, config: SiloConfig, roster: Mapping[str, bytes]) -> None:
    if config.name not in job.silos.names:
        raise SessionMismatch(f"{config.name} is not among the job's silos, {', '.join(job.silos.names)}")
    if strangers := set(job.silos.names) - set(roster):
        raise SessionMismatch(
            f"the job names {', '.join(sorted(strangers))}, whom this silo's roster does not know; provision again"
        )


def _require_single_copies(job: AnyJob, config: SiloConfig, *, private: bool) -> None:
    if isinstance(config.data, CsvTables | OwnScript):
        return  # each line of a table is one record
    try:
        require_single_copies(config.data, private=private)
    except ValueError as error:
        raise PolicyRefused(f"{config.name} cannot take part in the job {job.name}: {error}") from error
