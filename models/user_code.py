"""Code of the user's own that a job names: found where it is installed, compared with its digest, then imported."""

import importlib

from siloseal.federation.job.sections.learner_kind import UserCode


def load_code(code: UserCode) -> object:
    """The class or function that the job names."""
    module, _, name = code.target.partition(":")
    return getattr(importlib.import_module(module), name)
