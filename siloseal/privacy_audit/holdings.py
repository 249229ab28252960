"""What silos hold, for the shapes and sizes of an audit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from siloseal.federation.config.loading import load_config
from siloseal.federation.config.paths import expand
from siloseal.federation.config.section import placed
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.models.user_code.places import look_in
from siloseal.silo.config import SiloConfig
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.own import load_own
from siloseal.silo.data.records import encode


@dataclass(frozen=True)
class Holdings:
    """What the silos of a job hold: shapes and sizes count, and nobody's records enter an audit."""

    parts: Mapping[str, Examples]
    labels: Mapping[str, Sequence[int]]
    """The classes that each silo declares."""

    @classmethod
    def of_silo(cls, job: Job, file: Path) -> Self:
        """What one silo of a deployment holds, as its silo.yaml says. Its policy and its ledger are not asked."""
        config = placed(load_config(SiloConfig, file), file.resolve().parent)
        if config.name not in job.silos.names:
            raise ConfigError(
                f"{file} is the file of {config.name}, but the job {job.name} is for {', '.join(job.silos.names)}; "
                "give the file of one of them"
            )
        if config.code is not None:
            look_in(expand(config.code))
        examples = _examples(job, config)
        labels = range(examples.classes) if config.classes is None else config.classes
        return cls({config.name: examples}, {config.name: labels})


def _examples(job: Job, config: SiloConfig) -> Examples:
    """The silo's examples; those of a table by the columns that the job declares."""
    records, declared = load_own(config), job.data.declared
    if isinstance(records, Examples) and declared is None:
        return records
    if isinstance(records, Examples) or declared is None:
        raise ConfigError(
            f"either {config.name} holds a table, or the job {job.name} declares the columns of one, but not both; "
            "change data in the job or in silo.yaml"
        )
    return encode(records, declared)
