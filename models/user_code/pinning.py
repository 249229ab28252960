"""Jobs that run between institutions name the digests of everything of the user's own, so that all silos sign them."""

from pathlib import Path
from typing import TypeVar

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.learner_kind import LearnerKind
from siloseal.federation.job.sections.supervised import ClassifierConfig
from siloseal.models.user_code.loading import found_code
from siloseal.models.user_code.places import own_file
from siloseal.models.user_code.source import file_digest, source_of

L = TypeVar("L", bound=LearnerKind)


def missing_digests(learner: LearnerKind) -> dict[str, str]:
    """The fields that a deployment needs and the job lacks, with the digests of what lies on this machine."""
    found = dict[str, str]()
    if learner.code is not None and learner.code.source is None:
        found["source"] = str(found_code(learner.code).source)
    if isinstance(learner, ClassifierConfig) and learner.weights is not None and learner.weights_source is None:
        found["weights_source"] = file_digest(own_file(learner.weights, field="weights"))
    return found


def pinned(learner: L) -> L:
    """The learner with the digests and the full paths of what lies on this machine."""
    changes: dict[str, object] = {**missing_digests(learner)}
    if isinstance(learner, ClassifierConfig) and learner.weights is not None:
        changes["weights"] = own_file(learner.weights, field="weights").resolve()
    return learner.model_copy(update=changes)


def code_folder(learner: LearnerKind) -> Path | None:
    """The folder that the learner's code was found in; None for a learner without code of the user's own."""
    return None if learner.code is None else source_of(learner.code.target).folder


def require_pinned(learner: LearnerKind) -> None:
    """`ConfigError` with the lines to add, unless the job names the digest of everything of the user's own."""
    if missing := missing_digests(learner):
        raise ConfigError(lines_to_add(missing))


def lines_to_add(missing: dict[str, str]) -> str:
    """What a job must say besides, for an error."""
    lines = ", ".join(f"`{field}: {digest}`" for field, digest in missing.items())
    return (
        "the job names code or weights of your own without their digest, so that silos could not tell what they agree "
        f"to; add {lines} under learner in the job, if what lies here is what is meant"
    )
