"""Names of classes, where the data have any."""

from siloseal.federation.job.sections.columns import CategoryTarget, Columns
from siloseal.federation.job.sections.data import ClassFolders, DataSource, DicomFolders, NpzFile
from siloseal.silo.data.paths import located
from siloseal.silo.data.pictures import subfolders


def class_names(source: DataSource) -> tuple[str, ...]:
    """The names of the classes in the order of their numbers; none for data whose classes are numbers."""
    match source:
        case ClassFolders(class_names=tuple(names)) | DicomFolders(class_names=tuple(names)):
            return names
        case NpzFile(class_names=tuple(names)):
            return names
        case ClassFolders(path=path) | DicomFolders(path=path):
            return tuple(folder.name for folder in subfolders(located(path)))
        case _:
            return () if source.declared is None else target_names(source.declared)


def target_names(columns: Columns) -> tuple[str, ...]:
    """The classes that a table's declared target has; none where it is measured."""
    return columns.target.values if isinstance(columns.target, CategoryTarget) else ()
