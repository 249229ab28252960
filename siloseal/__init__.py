"""Institutions learn one model from data that never leaves any of them. This is the public Python API.

A first session, with all silos in this process:

>>> import siloseal
>>> job = siloseal.load_job("job.yaml")                    # `siloseal demo --print-config` prints one
>>> plan = siloseal.plan(job)                              # steps, epsilon, bytes, memory, time; nothing is spent
>>> summary = siloseal.simulate(job, "runs/trial")         # the same call again resumes a run that was interrupted
>>> run = siloseal.read_run("runs/trial")                  # run.summary, run.quality, run.traffic, run.privacy, ...
>>> ledger = siloseal.read_ledger("runs/trial", "north")   # ledger.epsilon, ledger.charges: what this silo has spent
>>> model = siloseal.load_model("runs/trial")              # a torch network
>>> images, labels = siloseal.sample(model, label=3, count=16)
>>> vectors = {"north": [0.5, 1.0], "east": [0.25, 2.0]}
>>> total = siloseal.sum_in_process(siloseal.secure_sum("ckks"), vectors).total

And in a training loop of your own, on any `torch.nn.Module`:

>>> import torch
>>> def train(session):                                    # each silo's own script
...     module = torch.nn.Linear(4, 2)
...     siloseal.sealed_average(module, weight=100, session=session)    # encrypted; in place
...     return module
>>> modules = siloseal.simulate_silos(train, ["north", "east", "south"])

`open_session` is the session of a script over the network. `adapt` is for few-shot models, and `predict` for
classifiers, what `sample` is for generative ones. `export` writes a model for use elsewhere. `check_learner` tries a
learner of your own. `help(siloseal.NAME)` has an example of each name.
`siloseal.__version__` is the version, as `siloseal --version` prints it.

Whatever is refused, be it a wrong type or a wrong value, is a `SiloSealError`: its message says what was found, what
was expected and what to do. Python's own TypeError remains for a call with other arguments than a function
has, OSError for a disk that fails, and pydantic's ValidationError, a ValueError, for a `Job` that is not read from a
file but made from its sections.

What is public: the names in `siloseal.__all__`, which `dir(siloseal)` lists. They, their arguments and their results
change only with a note in CHANGELOG.md. Every other module (`siloseal.federation`, `siloseal.silo` and so on) is
internal and may change at any time, though its name has no underscore: ARCHITECTURE.md says why. So write
`import siloseal` and `siloseal.NAME`; an import from a module inside of the package is at your own risk.

Nothing is imported before it is used: `import siloseal` loads neither torch nor a cryptographic library.
"""

import importlib
import os
import typing

if typing.TYPE_CHECKING:
    from siloseal._api import check_learner, load_job, plan, read_ledger, read_run, simulate
    from siloseal._averages import open_session, sealed_average, simulate_silos
    from siloseal._models import adapt, export, load_model, predict, sample
    from siloseal._sums import secure_sum, sum_in_process
    from siloseal.federation.analytics.query import Answer, Estimate
    from siloseal.federation.errors import ConfigError, DataError, PrivacyError, ProtocolError, RunError, SiloSealError
    from siloseal.federation.job.job import Job
    from siloseal.federation.job.planning import SiloPlan
    from siloseal.federation.privacy.events import PrivacyEvent
    from siloseal.federation.sums.exchanges import Exchange, InProcessSum
    from siloseal.federation.sums.secure_sum import SecureSum
    from siloseal.federation.sums.session import IntegerDomain, RealDomain
    from siloseal.models.learner import ExampleLearner, LabelledRows, Learner
    from siloseal.models.module_learner import ModuleLearner
    from siloseal.run_folder.classification import ClassificationMetric, ReliabilityBin
    from siloseal.run_folder.metrics import (
        NoteMetric,
        PrivacyMetric,
        ProtectionMetric,
        QualityMetric,
        TimingMetric,
        TrafficMetric,
    )
    from siloseal.run_folder.run import Run
    from siloseal.run_folder.summary import ModelSummary, RunSummary, SiloSummary
    from siloseal.runs.adapting import Prediction
    from siloseal.runs.averaging_session import AveragingSession, SealedAverage
    from siloseal.runs.drawing import Samples
    from siloseal.runs.plan import Plan, SiloCost
    from siloseal.runs.predicting import Predicted
    from siloseal.silo.ledger import Budget, Charge
    from siloseal.silo.ledger_reading import LedgerReading
    from siloseal.silo.promises.checking import LearnerFinding

__version__: str
__all__ = [
    "Answer",
    "AveragingSession",
    "Budget",
    "Charge",
    "ClassificationMetric",
    "ConfigError",
    "DataError",
    "Estimate",
    "ExampleLearner",
    "Exchange",
    "InProcessSum",
    "IntegerDomain",
    "Job",
    "LabelledRows",
    "Learner",
    "LearnerFinding",
    "LedgerReading",
    "ModelSummary",
    "ModuleLearner",
    "NoteMetric",
    "Plan",
    "Predicted",
    "Prediction",
    "PrivacyError",
    "PrivacyEvent",
    "PrivacyMetric",
    "ProtectionMetric",
    "ProtocolError",
    "QualityMetric",
    "RealDomain",
    "ReliabilityBin",
    "Run",
    "RunError",
    "RunSummary",
    "Samples",
    "SealedAverage",
    "SecureSum",
    "SiloCost",
    "SiloPlan",
    "SiloSealError",
    "SiloSummary",
    "TimingMetric",
    "TrafficMetric",
    "adapt",
    "check_learner",
    "export",
    "load_job",
    "load_model",
    "open_session",
    "plan",
    "predict",
    "read_ledger",
    "read_run",
    "sample",
    "sealed_average",
    "secure_sum",
    "simulate",
    "simulate_silos",
    "sum_in_process",
]

_HOMES = {
    "siloseal._api": ("check_learner", "load_job", "plan", "read_ledger", "read_run", "simulate"),
    "siloseal._averages": ("open_session", "sealed_average", "simulate_silos"),
    "siloseal._models": ("adapt", "export", "load_model", "predict", "sample"),
    "siloseal._sums": ("secure_sum", "sum_in_process"),
    "siloseal.federation.analytics.query": ("Answer", "Estimate"),
    "siloseal.federation.errors": (
        "ConfigError",
        "DataError",
        "PrivacyError",
        "ProtocolError",
        "RunError",
        "SiloSealError",
    ),
    "siloseal.federation.job.job": ("Job",),
    "siloseal.federation.job.planning": ("SiloPlan",),
    "siloseal.federation.privacy.events": ("PrivacyEvent",),
    "siloseal.federation.sums.exchanges": ("Exchange", "InProcessSum"),
    "siloseal.federation.sums.secure_sum": ("SecureSum",),
    "siloseal.federation.sums.session": ("IntegerDomain", "RealDomain"),
    "siloseal.models.learner": ("ExampleLearner", "LabelledRows", "Learner"),
    "siloseal.models.module_learner": ("ModuleLearner",),
    "siloseal.runs.adapting": ("Prediction",),
    "siloseal.runs.averaging_session": ("AveragingSession", "SealedAverage"),
    "siloseal.runs.drawing": ("Samples",),
    "siloseal.run_folder.classification": ("ClassificationMetric", "ReliabilityBin"),
    "siloseal.run_folder.metrics": (
        "NoteMetric",
        "PrivacyMetric",
        "ProtectionMetric",
        "QualityMetric",
        "TimingMetric",
        "TrafficMetric",
    ),
    "siloseal.runs.plan": ("Plan", "SiloCost"),
    "siloseal.runs.predicting": ("Predicted",),
    "siloseal.run_folder.run": ("Run",),
    "siloseal.run_folder.summary": ("ModelSummary", "RunSummary", "SiloSummary"),
    "siloseal.silo.ledger": ("Budget", "Charge"),
    "siloseal.silo.ledger_reading": ("LedgerReading",),
    "siloseal.silo.promises.checking": ("LearnerFinding",),
}
"""Module that defines each public name; a test compares it with `__all__` and with the imports above."""

# gRPC's own lines on standard error say what our errors say in words. It reads this when it is imported.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")


def __getattr__(name: str) -> object:
    """Import a public name from the module that defines it (PEP 562). The version is that of the installed package."""
    if name == "__version__":
        from importlib.metadata import version

        return version("siloseal")
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"siloseal has no public name {name!r}; siloseal.__all__ lists them")


def __dir__() -> list[str]:
    """The public names, for completion."""
    return [*__all__]
