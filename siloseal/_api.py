"""Functions behind public names for jobs, their runs, and learners of one's own.

Commands that do the same call them, too. Whatever they refuse, be it a wrong type or a wrong value, is a
`SiloSealError`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from siloseal._arguments import AnyPath, as_path, require_job, shown
from siloseal.federation.config.loading import load_config
from siloseal.federation.errors import RunError
from siloseal.federation.job.job import Job
from siloseal.models.user_code.places import look_in

if TYPE_CHECKING:
    from siloseal.federation.run_events.stream import Subscriber
    from siloseal.run_folder.run import Run
    from siloseal.run_folder.summary import RunSummary
    from siloseal.runs.plan import Plan
    from siloseal.silo.device_name import DeviceName
    from siloseal.silo.ledger_reading import LedgerReading
    from siloseal.silo.promises.checking import LearnerFinding

_RUN = "the path of a run's folder"


def load_job(path: AnyPath) -> Job:
    """Read a job from its YAML file, with every default filled in.

    A mistake is a `ConfigError` that names file, line, field, what was found and what would be right.

    >>> job = siloseal.load_job("job.yaml")
    >>> job.name, job.silos.names
    ('first', ('north', 'east', 'south'))
    """
    return load_config(Job, as_path(path, "the path of a job's YAML file"))


def plan(job: Job) -> "Plan":
    """Compute what the job would do and cost, and what the aggregator would learn. It spends no privacy.

    >>> plan = siloseal.plan(siloseal.load_job("job.yaml"))
    >>> [silo.name for silo in plan.silos]
    ['north', 'east', 'south']
    """
    from siloseal.runs.plan import make_plan
    from siloseal.runs.run import WORKERS
    from siloseal.runs.scoring import require_tasks
    from siloseal.runs.simulation import simulated_data

    require_job(job)
    look_in(Path())
    with _one_thread():
        data = simulated_data(job)
        require_tasks(job, data.held_out)
        return make_plan(job, data.parts, workers=WORKERS)


def simulate(
    job: Job, out: AnyPath | None = None, *, progress: bool = False, device: "DeviceName" = "cpu"
) -> "RunSummary":
    """Run the whole job with all silos in this process, and write its folder with models, ledgers and the report.

    The same call again resumes a run that was interrupted. `out` is the run folder; without it, runs/NAME, or the next
    free number of it. A finished run is never overwritten: read it with `read_run`. With `progress`, bars go to
    standard error. `device` is where the silos train: "cpu", "cuda", "mps", or "auto", which takes a graphics processor
    where there is one.

    >>> summary = siloseal.simulate(siloseal.load_job("job.yaml"), "runs/second")
    >>> summary.run_dir, round(summary.epsilon, 1)
    ('runs/second', 10.0)
    """
    from siloseal.runs.progress import ProgressView

    with ProgressView(quiet=not progress) as view:
        return simulate_watched(job, out, view.show, device)


def simulate_watched(job: Job, out: AnyPath | None, show: "Subscriber", device: "DeviceName" = "cpu") -> "RunSummary":
    """Do what `simulate` does, and publish the events of the run to `show`: the command line has its own console."""
    from siloseal.runs.run import run_job
    from siloseal.silo.training.device import training_device

    require_job(job)
    folder = None if out is None else as_path(out, "the path of a new run folder, or of one to go on with")
    look_in(Path())
    with _one_thread():
        return run_job(job, folder, show, device=training_device(device))


def read_run(folder: AnyPath) -> "Run":
    """Read a finished run's folder: its summary, its metrics, and the paths of its samples.

    >>> siloseal.read_run("runs/first").summary.name
    'first'
    """
    from siloseal.run_folder.run import read_run as read
    from siloseal.runs.printable_run import printable_run

    return printable_run(read(as_path(folder, _RUN)))


def read_ledger(folder: AnyPath, silo: str) -> "LedgerReading":
    """Read what one silo has spent in the run of this folder, and check that its ledger is not altered.

    A deployed silo has a folder for each run, state/runs/RUN: give that, or its state folder while there is one run.

    That last lines are missing cannot be seen in the ledger alone. The silo itself compares it with its checkpoint, and
    `siloseal report` with the summary of the run.

    >>> round(siloseal.read_ledger("runs/first", "north").epsilon, 1)
    10.0
    """
    from siloseal.run_folder.location import silo_folder
    from siloseal.silo.ledger import LEDGER_FILE
    from siloseal.silo.ledger_reading import read_ledger as read

    run_dir = as_path(folder, _RUN)
    silos = sorted(path.name for path in run_dir.glob("silos/*"))
    if isinstance(silo, str) and silo in silos:
        return read(silo_folder(run_dir, silo) / LEDGER_FILE)
    deployed = [*run_dir.glob(LEDGER_FILE), *sorted(run_dir.glob(f"runs/*/{LEDGER_FILE}"))]
    if len(deployed) > 1:
        runs = ", ".join(str(path.parent) for path in deployed)
        raise RunError(f"{run_dir} has the ledgers of several runs; give the folder of one of them: {runs}")
    ledgers = [read(path) for path in deployed]
    for ledger in ledgers:
        if ledger.silo == silo:
            return ledger
    names = silos or [ledger.silo for ledger in ledgers]
    known = f"its silos are {', '.join(names)}" if names else "give a run's folder, or a deployed silo's state/runs/RUN"
    raise RunError(f"found no ledger of a silo {shown(silo)} in {run_dir}; {known}")


def check_learner(
    learner: "str | Callable[..., object]",
    *,
    shape: Sequence[int],
    classes: int,
    label_shape: Sequence[int] = (),
    options: Mapping[str, object] | None = None,
) -> "list[LearnerFinding]":
    """Try everything that a learner promises on a class of your own, with random data.

    What is broken says so, and so does what could not be tried on this learner.

    `learner` is the class, or its target, MODULE:NAME. `shape` is that of one example, `label_shape` that of its label:
    empty for one class number; of a mask, height and width. No `classes` mean measured targets. A trial can find a
    breach of privacy; it cannot prove that there is none. `ModuleLearner` has the class of this example.

    >>> found = siloseal.check_learner("mylearner:Halves", shape=(3,), classes=2)
    >>> all(promise.kept for promise in found)
    True
    """
    from siloseal.runs.learner_check import check

    look_in(Path())
    with _one_thread():
        return check(learner, tuple(shape), classes, tuple(label_shape), dict(options or {}))


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
