"""Jobs that run between institutions name the digests of everything of the user's own, so that all silos sign them."""

from pathlib import Path
from typing import TypeVar

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.learner_kind import LearnerKind
from siloseal.federation.job.sections.supervised import ClassifierConfig
from siloseal.models.user_code.loading import found_code
from siloseal.models.user_code.places import is_plain, own_file
from siloseal.models.user_code.source import file_digest, source_of

L = TypeVar("L", bound=LearnerKind)


def weights_of(learner: LearnerKind) -> Path | None:
    """The file of first weights that the job names, if it names one."""
    return learner.weights if isinstance(learner, ClassifierConfig) else None


def not_deployable(learner: LearnerKind) -> list[str]:
    """What keeps a job with the user's own code or weights from a deployment, in words about the job alone.

    A silo says them to the aggregator. So nothing is looked for, read or digested here.
    """
    found, weights = list[str](), weights_of(learner)
    if fields := _unpinned(learner):
        found.append(
            f"learner has no {' and no '.join(fields)}, so that silos could not tell what they agree to; add what "
            "`siloseal digest` prints to the job"
        )
    if weights is not None and not is_plain(weights):
        found.append(
            f"learner.weights is {weights}, which is one machine's path; give a relative one, without .., ~ and "
            "variables, of a file in the folder `code` of each party"
        )
    return found


def missing_digests(learner: LearnerKind) -> dict[str, str]:
    """The fields that a deployment needs and the job lacks, with the digests of what lies on this machine."""
    return {field: _digest_here(learner, field) for field in _unpinned(learner)}


def pinned(learner: L) -> L:
    """The learner with the digests of what lies on this machine, and with weights as a path below `code_folder`."""
    changes: dict[str, object] = {**missing_digests(learner)}
    if (weights := weights_of(learner)) is not None and (folder := code_folder(learner)) is not None:
        file = own_file(weights, field="weights").resolve()
        if not file.is_relative_to(folder):
            raise ConfigError(f"learner.weights is {file}, but the code is in {folder}; copy the weights there")
        changes["weights"] = file.relative_to(folder)
    return learner.model_copy(update=changes)


def code_folder(learner: LearnerKind) -> Path | None:
    """The folder that the learner's code was found in, or else its weights; None without anything of the user's own."""
    if learner.code is not None:
        return source_of(learner.code.target).folder
    weights = weights_of(learner)
    return None if weights is None else own_file(weights, field="weights").resolve().parent


def require_pinned(learner: LearnerKind) -> None:
    """`ConfigError` with what to change, unless silos could take the job: the party's own files give the digests."""
    if missing := missing_digests(learner):
        lines = ", ".join(f"`{field}: {digest}`" for field, digest in missing.items())
        raise ConfigError(
            "the job names code or weights of your own without their digest, so that silos could not tell what they "
            f"agree to; add {lines} under learner in the job, if what lies here is what is meant"
        )
    if found := not_deployable(learner):
        raise ConfigError("; ".join(found))


def _unpinned(learner: LearnerKind) -> list[str]:
    found = list[str]()
    if learner.code is not None and learner.code.source is None:
        found.append("source")
    if isinstance(learner, ClassifierConfig) and learner.weights is not None and learner.weights_source is None:
        found.append("weights_source")
    return found


def _digest_here(learner: LearnerKind, field: str) -> str:
    if field == "source" and learner.code is not None:
        return str(found_code(learner.code).source)
    return file_digest(own_file(weights_of(learner) or Path(), field="weights"))
