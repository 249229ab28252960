"""`siloseal digest` and `siloseal check-learner`: for whoever brings a network or a learner of their own."""

import dataclasses
import json
import re
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from siloseal.cli.options import Json
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.learner_kind import UserCode
from siloseal.federation.job.sections.supervised import TARGET
from siloseal.models.user_code.places import look_in

What = Annotated[str, typer.Argument(help="Code as MODULE:NAME, or the path of a file of weights.", metavar="WHAT")]
Folder = Annotated[Path, typer.Option(help="A folder to look for the module in. By default the current one.")]
Sizes = Annotated[str, typer.Option(help="Shape of one example, as sizes with commas between them.")]
LabelSizes = Annotated[str, typer.Option(help="Shape of one label; empty for one number an example.")]
Options = Annotated[
    list[str], typer.Option("--options", help="Settings of the class: key=value, or a JSON object. May be repeated.")
]


def digest(what: What, folder: Folder = Path(), as_json: Json = False) -> None:
    """Print the digest of code or weights of your own, and the lines for a job and for a silo's policy."""
    from siloseal.models.user_code.names import require_name
    from siloseal.models.user_code.source import file_digest, source_of

    look_in(folder)
    if re.fullmatch(TARGET, what):
        source = source_of(what)
        require_name(source, what)
        found, covers = source.digest, sorted(str(source.folder / name) for name in source.files)
        entries = {f"policy, {kind}": f'- "{UserCode(kind, what, found)}"' for kind in KINDS}
        lines = {"job": f"source: {found}", **entries}
    elif what.endswith(".py"):
        raise ConfigError(f"found {what}, expected what the job names in it: {Path(what).stem}:build, say")
    elif Path(what).is_file():
        found, covers = file_digest(Path(what)), [what]
        lines = {"job": f"weights_source: {found}"}
    else:
        raise ConfigError(f"found {what}, expected code as MODULE:NAME, or the path of a file of weights")
    if as_json:
        print(json.dumps({"digest": found, "files": covers, "lines": lines}, indent=2))
        return
    print(found)
    print(f"covers: {', '.join(covers) if len(covers) <= MOST_FILES else f'{len(covers)} files'}")
    for where, line in lines.items():
        print(f"{WHERE[where]}:\n  {line}")


KINDS = ("classifier", "python")
MOST_FILES = 10
WHERE = {
    "job": "in the job, under learner",
    "policy, classifier": "in policy.learners of every silo.yaml, as learner.model of a classifier",
    "policy, python": "in policy.learners of every silo.yaml, as learner.target",
}


def check_learner(
    target: Annotated[str, typer.Argument(help="The learner's class, as MODULE:NAME.", metavar="TARGET")],
    shape: Sizes,
    classes: Annotated[int, typer.Option(min=0, help="Number of classes; 0 for measured targets.")],
    label_shape: LabelSizes = "",
    options: Options = [],  # noqa: B006 (Typer takes no tuple)
    folder: Folder = Path(),
    as_json: Json = False,
) -> None:
    """Try everything that a learner promises on a class of your own, with random data.

    Gradients a unit, repeatability, state, shared vector, and that nothing but the clipped gradient sees data. A trial
    can find a breach; it cannot prove that there is none. The exit code is 0 if every promise was tried and is kept, 1
    if one is broken, and 3 if none is broken, but one could not be tried on this learner.
    """
    sizes, label_sizes, settings = _sizes(shape), _sizes(label_shape), _settings(options)  # before torch is imported
    from siloseal import _api

    look_in(folder)
    found = _api.check_learner(target, shape=sizes, classes=classes, label_shape=label_sizes, options=settings)
    counts = Counter(finding.outcome for finding in found)
    if as_json:
        print(json.dumps([dataclasses.asdict(finding) for finding in found], indent=2))
    else:
        _show(target, [(finding.promise, finding.outcome, finding.found) for finding in found])
        untried = f", {counts['not tried']} could not be tried" if counts["not tried"] else ""
        print(f"{counts['kept']} of {len(found)} promises are kept{untried}")
    if counts["broken"] or counts["not tried"]:
        raise typer.Exit(BROKEN if counts["broken"] else NOT_TRIED)


BROKEN, NOT_TRIED = 1, 3
"""Exit codes of a trial; 2 is that of a command that is typed wrongly."""


def _show(target: str, rows: list[tuple[str, str, str]]) -> None:
    from rich.console import Console as Terminal

    from siloseal.report.document import Table
    from siloseal.report.terminal import print_table

    print_table(Terminal(highlight=False), Table(target, ("promise", "", "what was found"), tuple(rows)))


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(size) for size in text.split(",")) if text.strip() else ()
    except ValueError:
        raise ConfigError(f"found the shape {text!r}, expected whole numbers with commas between: 1,28,28") from None


def _settings(given: list[str]) -> dict[str, object]:
    """Settings from key=value, whose value may be JSON, and from whole JSON objects."""
    found = dict[str, object]()
    for text in given:
        if text.lstrip().startswith("{"):
            found |= _json_object(text)
        elif "=" in text:
            key, _, value = text.partition("=")
            found[key.strip()] = _value(value)
        else:
            raise ConfigError(f"found the option {text!r}, expected key=value or a JSON object")
    return found


def _json_object(text: str) -> dict[str, object]:
    try:
        return dict(json.loads(text))
    except ValueError as error:
        raise ConfigError(f"found {text!r}, which is no JSON object ({error}); mind quotes and braces") from None


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
