"""A deployed silo's own data, as its silo.yaml says."""

from pathlib import Path

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.tables import CsvTables
from siloseal.silo.config import OwnScript, SiloConfig
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.loading import load
from siloseal.silo.data.paths import located
from siloseal.silo.data.tables import Table, read_table

Records = Examples | Table
"""Images or arrays, or a table, which a training job's declaration makes examples of; queries can use both."""


def load_own(config: SiloConfig) -> Records:
    """The records that the silo holds: its training examples, or its table."""
    if isinstance(config.data, CsvTables):
        return read_own_table(config.data, config.name)
    if isinstance(config.data, OwnScript):
        raise ConfigError(
            f"data.kind of {config.name} is script: only a script of the silo's own has the data; run the script, "
            "which calls siloseal.open_session, or name the data in silo.yaml"
        )
    examples, _ = load(config.data)
    return examples


def read_own_table(source: CsvTables, silo: str) -> Table:
    """The table of one silo: the file, or NAME.csv in the folder."""
    path = (source.file or Path()) if source.folder is None else source.folder / f"{silo}.csv"
    return read_table(located(path), source.delimiter)
