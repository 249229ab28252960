"""Functions behind the names that `import siloseal` offers. Commands that do the same call them, too.

Whatever they refuse, be it a wrong type or a wrong value, is a `SiloSealError`.
"""

import os
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
    from numpy.typing import ArrayLike
    from torch import Tensor
    from torch.nn import Module

    from siloseal.federation.run_events.stream import Subscriber
    from siloseal.run_folder.summary import Run, RunSummary
    from siloseal.runs.adapting import Prediction
    from siloseal.runs.drawing import Samples
    from siloseal.runs.exporting import Format
    from siloseal.runs.plan import Plan
    from siloseal.runs.predicting import Predicted
    from siloseal.silo.device_name import DeviceName
    from siloseal.silo.ledger_reading import LedgerReading
    from siloseal.silo.promises.checking import LearnerFinding

_RUN = "the path of a run's folder"
_MODEL = "the path of a run's folder or of its global.safetensors"


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
    from siloseal.run_folder.summary import read_run as read
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


def load_model(path: AnyPath, *, code: str | None = None) -> "Module":
    """Load the global model of a run, from its folder or from its global.safetensors, as a `torch.nn.Module`.

    A file may name code of a user's own. It is run if the job of the same folder names it, or if you do:
    code="xray:build". Code that lies in that folder itself is run only if you name it.

    >>> siloseal.load_model("runs/first").shape
    (1, 8, 8)
    """
    from siloseal.models.model_files import read_model

    look_in(Path())
    return read_model(_model_file(path), code=code).network


def sample(model: "AnyPath | Module", *, label: int | None = None, count: int = 64, seed: int = 0) -> "Samples":
    """Draw images of one class, or of all classes in turn, from a generative model or from its file or run folder.

    That costs no privacy: the model is already released. Equal seeds give equal images.

    >>> images, labels = siloseal.sample("runs/first", label=3, count=5)
    >>> images.shape, labels.tolist()
    ((5, 1, 8, 8), [3, 3, 3, 3, 3])
    """
    from siloseal.runs.drawing import sample as draw

    return draw(_network_or_file(model), label=label, count=count, seed=seed)


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


def adapt(model: "AnyPath | Module", support: AnyPath, query: AnyPath, *, invert: bool = False) -> "list[Prediction]":
    """Learn the classes of `support`, a folder of class folders, with a few-shot model, and name the images of `query`.

    The model may be a network, its file or its run's folder. `invert` is for dark ink on light paper where the model
    was trained on light on dark. Nothing leaves this machine.

    >>> named = siloseal.adapt("few-shot.safetensors", "support", "query")
    >>> [(image.file, image.predicted) for image in named]
    [('query/0.png', 'lying'), ('query/1.png', 'upright')]
    """
    from siloseal.runs.adapting import adapt as name_images

    shown_images = as_path(support, "the path of a folder of class folders")
    asked_images = as_path(query, "the path of a folder of images")
    return name_images(_network_or_file(model), shown_images, asked_images, invert=invert)


def predict(
    model: "AnyPath | Module", inputs: "ArrayLike | Tensor | AnyPath", *, code: str | None = None
) -> "Predicted":
    """Name records with a classifier, given as a network, its file or its run's folder.

    `inputs` is an array or tensor of floats, (count, ...), scaled as the training data were: pixels lie in [0, 1]. Or
    it is the path of an .npz, of a .csv with the columns that the job declares, or of a folder of pictures, which are
    read as the training data were. `code` is as in `load_model`. Nothing leaves this machine.

    >>> import numpy
    >>> labels, probabilities = siloseal.predict("classifier.safetensors", numpy.zeros((3, 1, 8, 8)))
    >>> labels.shape, probabilities.sum(1).round(6).tolist()
    ((3,), [1.0, 1.0, 1.0])
    """
    from siloseal.runs.predicting import predict as name_classes

    if isinstance(inputs, str | os.PathLike):
        inputs = as_path(inputs, "the path of the records")
    look_in(Path())
    return name_classes(_network_or_file(model), inputs, code=code)


def export(model: AnyPath, out: AnyPath, *, to: "Format", code: str | None = None) -> None:
    """Write a model for use elsewhere: as a program of torch.export ("torch"), or in ONNX ("onnx").

    Either takes batches of any size. ONNX needs the extra `export`: pip install "siloseal[export]". `code` is as in
    `load_model`.

    >>> import torch
    >>> siloseal.export("classifier.safetensors", "classifier.pt2", to="torch")
    >>> torch.export.load("classifier.pt2").module()(torch.zeros(3, 1, 8, 8)).shape
    torch.Size([3, 10])
    """
    from siloseal.runs.exporting import export as write

    look_in(Path())
    write(_model_file(model), as_path(out, "the path of the file to write"), to=to, code=code)


def _network_or_file(given: object) -> "Module | Path":
    from torch.nn import Module

    return given if isinstance(given, Module) else _model_file(given)


def _model_file(given: object) -> Path:
    from siloseal.models.model_files import GLOBAL_MODEL

    path = as_path(given, _MODEL)
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
