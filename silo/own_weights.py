"""First weights that a job names, at a deployed silo: a file that the silo's operator has put there, or none.

The aggregator chooses the name. So it leads into the silo's folder `code` alone, and whatever is wrong with the file
is one and the same error: a refusal tells nobody which files there are.
"""

from pathlib import Path

from siloseal.federation.config.paths import expand
from siloseal.federation.errors import CodeMismatch
from siloseal.federation.job.sections.learner_kind import LearnerKind
from siloseal.federation.job.sections.supervised import ClassifierConfig
from siloseal.models.user_code.places import is_plain
from siloseal.models.user_code.source import file_digest


def require_own_weights(learner: LearnerKind, code: Path | None) -> None:
    """`CodeMismatch` unless the folder `code` holds the weights that the job names, with the digest that it names.

    They are compared once more when they are loaded: what is loaded are the bytes that were compared.
    """
    if not isinstance(learner, ClassifierConfig) or learner.weights is None:
        return
    wrong = _wrong(learner.weights, learner.weights_source, None if code is None else expand(code))
    if wrong:
        raise CodeMismatch(
            f"the job begins with the weights {learner.weights}, {learner.weights_source}, but {wrong}; if you trust "
            "the file that the job was written for, put it into the folder `code` of silo.yaml under this name"
        )


def _wrong(weights: Path, digest: str | None, code: Path | None) -> str:
    """What is wrong; empty if nothing is. The file is opened only if it lies inside the folder, links followed."""
    if code is None:
        return "silo.yaml names no folder as code"
    if not is_plain(weights) or digest is None:
        return "the path is not one inside the folder, or the job has no digest"
    try:
        folder, file = code.resolve(), (code / weights).resolve()
        if not file.is_relative_to(folder):
            return f"{code / weights} is a link out of {folder}"
        if not file.is_file():
            return f"{file} is no file"
        found = file_digest(file)
    except (OSError, RuntimeError) as error:  # no access, a name that is too long, a circle of links
        return f"{code / weights} cannot be read ({error})"
    return "" if found == digest else f"{file} has the digest {found}"
