"""The global model of every stage, in a folder where others can look at it."""

from pathlib import Path

from siloseal.federation.job.job import Job
from siloseal.federation.records.storage import make_folder, write_atomically
from siloseal.federation.run_events.aggregator import ModelKept
from siloseal.federation.run_events.coordination import Model, ModelReleased, SilosEnrolled
from siloseal.federation.run_events.stream import RunEvent, Subscriber
from siloseal.federation.shapes import Shape
from siloseal.models.building import load_model
from siloseal.models.model_files import shared_model_file


class ModelFiles:
    """A subscriber that writes each released model, and publishes that it is there."""

    def __init__(self, job: Job, folder: Path, publish: Subscriber) -> None:
        self._job, self._folder, self._publish = job, folder, publish
        self._shape, self._classes = Shape(), 0

    def hear(self, event: RunEvent) -> None:
        """Write the model that an event releases."""
        match event:
            case SilosEnrolled(shape, classes):
                self._shape, self._classes = shape, classes
            case ModelReleased(stage, model):
                self._publish(ModelKept(stage, self._write(stage, model)))

    def _write(self, stage: str, model: Model) -> str:
        network = load_model(self._job, self._shape, self._classes, model)
        make_folder(self._folder, mode=0o700)
        path = self._folder / f"{stage}.safetensors"
        job = self._job
        content = shared_model_file(job.learner, self._shape, self._classes, network, columns=job.data.declared)
        if not path.exists() or path.read_bytes() != content:
            write_atomically(path, content, mode=0o600)
        return path.name
