"""Where a run lives. The same command again continues an interrupted run; a finished one is never overwritten."""

from pathlib import Path

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.config.loading import load_config, to_yaml
from siloseal.federation.errors import ConfigError, RunError
from siloseal.federation.records.storage import make_folder, write_atomically


def open_run_folder(job: AnyJob, out: Path | None) -> Path:
    """The folder in which a run of this job begins or goes on."""
    return begin_folder(job, run_folder(job, out))


def run_folder(job: AnyJob, out: Path | None) -> Path:
    """`out`, or the first of runs/NAME, runs/NAME-2, ... that is new or holds this job unfinished.

    A job of queries finds its finished run again: who asks the same questions is shown the answers, and not charged.
    """
    if out is not None:
        if is_finished(out) and not _is_asked_again(job, out):
            raise RunError(f"{out} holds a finished run; see `siloseal report {out}`, or choose another folder")
        return out
    number, folder = 1, Path("runs") / job.name
    while folder.exists() and not _may_go_on(job, folder):
        number += 1
        folder = Path("runs") / f"{job.name}-{number}"
    return folder


def _may_go_on(job: AnyJob, folder: Path) -> bool:
    return _is_asked_again(job, folder) if is_finished(folder) else _is_of(job, folder)


def _is_asked_again(job: AnyJob, folder: Path) -> bool:
    return isinstance(job, AnalyticsJob) and _is_of(job, folder)


def is_finished(folder: Path) -> bool:
    """Whether the run has finished: the report is written last."""
    return (folder / "summary.json").exists() and (folder / "report.html").exists()


def silo_folder(run_dir: Path, silo: str) -> Path:
    """The folder of a silo's ledger and models of this run; a deployed silo has one for each run it took part in."""
    home = run_dir / "silos" / silo
    return next(iter(sorted((home / "runs").glob("*"))), home)


def folder_alone(run_dir: Path, silo: str) -> Path:
    """The folder of the run in which the silo is trained alone, for comparison."""
    return run_dir / "alone" / silo


def _has_files(folder: Path) -> bool:
    """Whether the folder holds files, but for names with a dot first, which a kill may leave of its first file."""
    return any(not path.name.startswith(".") for path in folder.iterdir())


def _is_of(job: AnyJob, folder: Path) -> bool:
    try:
        return load_config(type(job), folder / "config.yaml").digest == job.digest
    except ConfigError:
        return False


def begin_folder(job: AnyJob, folder: Path) -> Path:
    """A folder that is new, or that holds this job already; `RunError` for any other."""
    if (folder / "config.yaml").exists() and not _is_of(job, folder):
        raise RunError(f"{folder} was begun with another job; run that job again, or choose another folder")
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file, expected a new or empty folder, or that of a run; choose another path")
    if folder.exists() and not (folder / "config.yaml").exists() and _has_files(folder):
        raise RunError(f"{folder} is not empty and not a run folder; choose another folder")
    try:
        make_folder(folder)
        write_atomically(folder / "config.yaml", to_yaml(job).encode())
    except OSError as error:
        raise RunError(f"{folder} cannot be written ({error}); choose another folder or free some space") from error
    return folder
