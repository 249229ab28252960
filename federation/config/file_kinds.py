"""What a YAML file is, by the keys that only its kind has, so that the wrong file for a command is named as such.

The models themselves stand in other packages, which this one may not know: a model is recognised by its fields as a
file is by its keys.
"""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class FileKind:
    """One kind of YAML file."""

    name: str
    """What a person calls it, with its article."""
    keys: frozenset[str]
    """Keys that every file of this kind has, and that no file of a later kind in the table has all of."""
    use: str
    """Sentence that says which command takes it."""


KINDS = (
    FileKind("a job", frozenset({"learner"}), "`siloseal plan` and `siloseal run` take it"),
    FileKind("a file of queries", frozenset({"queries"}), "`siloseal analytics` takes it"),
    FileKind("a job of averages", frozenset({"averages"}), "a consortium's `job` may name it"),
    FileKind("a comparison", frozenset({"grids"}), "`siloseal compare` takes it"),
    FileKind("a consortium", frozenset({"job", "policy"}), "`siloseal provision` takes it"),
    FileKind("an aggregator's config", frozenset({"tls", "port"}), "`siloseal aggregator --config` takes it"),
    FileKind("a silo's config", frozenset({"tls", "identity"}), "`siloseal silo --config` takes it"),
    FileKind("an operator's config", frozenset({"tls", "aggregator"}), "`siloseal status --config` takes it"),
    FileKind("a silo's request", frozenset({"certificate_request"}), "`siloseal provision` reads it for its silo"),
    FileKind("a roster", frozenset({"identities"}), "aggregator and silos read it where `roster` names it"),
)
"""All kinds; the first whose keys are there counts."""


def kind_of(keys: Collection[object]) -> FileKind | None:
    """The kind of a file with these keys, or of a model with these fields; None where it cannot be told."""
    return next((kind for kind in KINDS if kind.keys <= set(keys)), None)


def explain_wrong_kind(keys: Collection[object], fields: Collection[str], *, name: str) -> str | None:
    """One line for a file that is of another kind than the model with these fields reads; None where it may be one."""
    found, expected = kind_of(keys), kind_of(fields)
    if found is None or expected is None or expected.keys <= set(keys):
        return None
    return f"{name}: is {found.name}, expected {expected.name}; {found.use}"
