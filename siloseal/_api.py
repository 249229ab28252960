"""Functions behind the names that `import siloseal` offers; the command line calls the same ones.

What they refuse, they refuse with a `SiloSealError` that says what was found, what was expected and what to do.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from siloseal.federation.config.loading import load_config, parse_config
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job

if TYPE_CHECKING:
    from siloseal.federation.sums.secure_sum import SecureSum
    from siloseal.models.building import SharedModel
    from siloseal.runs.adapting import Prediction
    from siloseal.runs.drawing import Samples
    from siloseal.runs.plan import Plan
    from siloseal.runs.summary import Run, RunSummary
    from siloseal.silo.ledger_reading import LedgerReading

GLOBAL_MODEL = "global.safetensors"
"""Name of the global model's file in a run folder."""

AnyPath = Path | str


def load_job(path: AnyPath) -> Job:
    """Read a job from its YAML file, with every default filled in.

    A mistake is a `ConfigError` that names file, line, field, what was found and what would be right.
    """
    return load_config(Job, Path(path))


def plan(job: Job) -> "Plan":
    """Compute what the job would do and cost: steps, epsilon, bytes, memory, time. It spends no privacy."""
    from siloseal.runs.plan import make_plan
    from siloseal.runs.run import WORKERS
    from siloseal.runs.scoring import require_tasks
    from siloseal.runs.simulation import deal
    from siloseal.silo.data.loading import load

    _require_job(job)
    with _one_thread():
        train, held_out = load(job.data)
        require_tasks(job, held_out)
        return make_plan(job, deal(job, train), workers=WORKERS)


def simulate(job: Job, out: AnyPath | None = None, *, progress: bool = False) -> "RunSummary":
    """Run the whole job with all silos in this process, and write its folder with models, ledgers and the report.

    The same call again resumes a run that was interrupted. `out` is the run folder; without it, runs/NAME, or the next
    free number of it. A finished run is never overwritten: read it with `read_run`. With `progress`, bars go to
    standard error.
    """
    from siloseal.cli.console import Console
    from siloseal.runs.run import run_job

    _require_job(job)
    with _one_thread(), Console(quiet=not progress, json=False) as console:
        return run_job(job, None if out is None else Path(out), console.show)


def read_run(folder: AnyPath) -> "Run":
    """Read a finished run's folder: its summary, its metrics, and the paths of its samples."""
    from siloseal.runs.summary import read_run as read

    return read(Path(folder))


def read_ledger(folder: AnyPath, silo: str) -> "LedgerReading":
    """Read what one silo has spent in the run of this folder, and check that its ledger is not altered.

    That last lines are missing cannot be seen in the ledger alone. The silo itself compares it with its checkpoint, and
    `siloseal report` with the summary of the run.
    """
    from siloseal.runs.folder import silo_folder
    from siloseal.silo.ledger_reading import read_ledger as read

    return read(silo_folder(Path(folder), silo) / "ledger.jsonl")


def load_model(path: AnyPath) -> "SharedModel":
    """Load the global model of a run, from its folder or from its global.safetensors, as a torch network."""
    from siloseal.models.building import read_model

    return read_model(_model_file(path))


def sample(model: "AnyPath | SharedModel", *, label: int | None = None, count: int = 64, seed: int = 0) -> "Samples":
    """Draw images of one class, or of all classes in turn, from a generative model or from its file or run folder.

    That costs no privacy: the model is already released. Equal seeds give equal images.
    """
    from siloseal.models.building import read_generator
    from siloseal.runs.drawing import sample as draw

    generator = read_generator(_model_file(model)) if isinstance(model, Path | str) else model
    return draw(generator, label=label, count=count, seed=seed)


def adapt(model: AnyPath, support: AnyPath, query: AnyPath, *, invert: bool = False) -> "list[Prediction]":
    """Learn the classes of `support`, a folder of class folders, with a few-shot model, and name the images of `query`.

    `invert` is for dark ink on light paper where the model was trained on light on dark. Nothing leaves this machine.
    """
    from siloseal.runs.adapting import adapt as name_images

    return name_images(_model_file(model), Path(support), Path(query), invert=invert)


def secure_sum(kind: str, options: Mapping[str, object] | None = None) -> "SecureSum":
    """Build a secure sum by the name and the options that a job's file has under `secure_sum`, for `sum_in_process`."""
    from siloseal.federation.sums.config import NamedSum

    if not isinstance(options or {}, Mapping) or "kind" in (options or {}):
        raise ConfigError(f"options are {options!r}, expected the sum's options by name, `kind` not among them")
    section = {**(options or {}), "kind": kind}
    return parse_config(NamedSum, yaml.safe_dump({"secure_sum": section}), name="secure_sum").secure_sum.build()


def _require_job(job: object) -> None:
    if not isinstance(job, Job):
        raise ConfigError(f"found {job!r}, expected a Job; read one from its file with siloseal.load_job")


def _model_file(path: AnyPath) -> Path:
    path = Path(path)
    return path / GLOBAL_MODEL if path.is_dir() else path


@contextmanager
def _one_thread() -> Iterator[None]:
    """Give torch one thread, because silos are what runs in parallel, and give the caller its threads back."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
