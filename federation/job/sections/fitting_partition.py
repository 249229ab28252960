"""Whether data can be dealt to the silos as a job says."""

from siloseal.federation.job.sections.columns import NumberTarget
from siloseal.federation.job.sections.data import DataSource
from siloseal.federation.job.sections.partition import BY_CLASS, Files, Sizes
from siloseal.federation.job.sections.silos import Silos
from siloseal.federation.job.sections.tables import CsvTables


def require_fitting_partition(silos: Silos, data: DataSource | CsvTables) -> None:
    """`ValueError` where the silos' partition does not go with the data."""
    partition = silos.partition
    if isinstance(partition, Sizes) and len(partition.fractions) != len(silos.names):
        raise ValueError(
            f"silos.partition.fractions are {len(partition.fractions)} for {len(silos.names)} silos; give one each"
        )
    if isinstance(partition, Files) and not has_file_each(data):
        raise ValueError(
            "silos.partition.kind is files, but data name no folder with a table for each silo; choose another kind, "
            "or set data.folder"
        )


def require_fitting_training_partition(silos: Silos, data: DataSource) -> None:
    """The same for data to train on, whose classes are known where columns are declared."""
    require_fitting_partition(silos, data)
    if has_file_each(data) and not isinstance(silos.partition, Files):
        raise ValueError(
            f"silos.partition.kind is {silos.partition.kind}, but data.folder has a table for each silo, and nothing "
            "is dealt; leave silos.partition out"
        )
    if isinstance(silos.partition, BY_CLASS) and data.declared and isinstance(data.declared.target, NumberTarget):
        raise ValueError(
            f"silos.partition.kind is {silos.partition.kind}, which deals by class, but data.target is a number; "
            "choose iid or sizes"
        )


def has_file_each(data: DataSource | CsvTables) -> bool:
    """Whether every silo has a table of its own in a folder."""
    return isinstance(data, CsvTables) and data.folder is not None
