"""Names of classes, where the data have any."""

from siloseal.federation.job.sections.data import ClassFolders, DataSource
from siloseal.silo.data.paths import expand
from siloseal.silo.data.pictures import subfolders


def class_names(source: DataSource) -> tuple[str, ...]:
    """The names of the classes in the order of their numbers; none for data whose classes are numbers."""
    match source:
        case ClassFolders(class_names=tuple(names)):
            return names
        case ClassFolders(path=path):
            return tuple(folder.name for folder in subfolders(expand(path)))
        case _:
            return ()
