"""Institutions learn one model from data that never leaves any of them. This is the public Python API.

Everything in `__all__` is public: its names, arguments and results change only with a note in CHANGELOG.md. Every other
module, `siloseal.federation` and `siloseal.silo` included, is internal and may change at any time.

Nothing is imported before it is used: `import siloseal` loads neither torch nor a cryptographic library.
"""

import importlib
import os
import typing

if typing.TYPE_CHECKING:
    from siloseal._api import (
        adapt,
        load_job,
        load_model,
        plan,
        read_ledger,
        read_run,
        sample,
        secure_sum,
        simulate,
    )
    from siloseal.federation.errors import (
        ConfigError,
        DataError,
        PrivacyError,
        ProtocolError,
        RunError,
        SiloSealError,
    )
    from siloseal.federation.job.job import Job
    from siloseal.federation.sums.in_process import InProcessSum, sum_in_process
    from siloseal.runs.adapting import Prediction
    from siloseal.runs.drawing import Samples
    from siloseal.runs.plan import Plan, SiloCost
    from siloseal.runs.summary import Run, RunSummary, SiloSummary
    from siloseal.silo.ledger_reading import LedgerReading

__all__ = [
    "ConfigError",
    "DataError",
    "InProcessSum",
    "Job",
    "LedgerReading",
    "Plan",
    "Prediction",
    "PrivacyError",
    "ProtocolError",
    "Run",
    "RunError",
    "RunSummary",
    "Samples",
    "SiloCost",
    "SiloSealError",
    "SiloSummary",
    "adapt",
    "load_job",
    "load_model",
    "plan",
    "read_ledger",
    "read_run",
    "sample",
    "secure_sum",
    "simulate",
    "sum_in_process",
]

_HOMES = {
    "ConfigError": "siloseal.federation.errors",
    "DataError": "siloseal.federation.errors",
    "InProcessSum": "siloseal.federation.sums.in_process",
    "Job": "siloseal.federation.job.job",
    "LedgerReading": "siloseal.silo.ledger_reading",
    "Plan": "siloseal.runs.plan",
    "Prediction": "siloseal.runs.adapting",
    "PrivacyError": "siloseal.federation.errors",
    "ProtocolError": "siloseal.federation.errors",
    "Run": "siloseal.runs.summary",
    "RunError": "siloseal.federation.errors",
    "RunSummary": "siloseal.runs.summary",
    "Samples": "siloseal.runs.drawing",
    "SiloCost": "siloseal.runs.plan",
    "SiloSealError": "siloseal.federation.errors",
    "SiloSummary": "siloseal.runs.summary",
    "sum_in_process": "siloseal.federation.sums.in_process",
}
"""Module that defines each public name that `siloseal._api` does not define; a test compares it with the imports."""

# gRPC's own lines on standard error say what our errors say in words. It reads this when it is imported.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")


def __getattr__(name: str) -> object:
    """Import a public name from the module that defines it (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"siloseal has no public name {name!r}; siloseal.__all__ lists them")
    return getattr(importlib.import_module(_HOMES.get(name, "siloseal._api")), name)


def __dir__() -> list[str]:
    """The public names, for completion."""
    return [*__all__]
