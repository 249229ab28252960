"""Expansion of a comparison's file into cells: each a measurement with its settings and the digest that names it."""

import hashlib
import itertools
import json
import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from siloseal.experiments.comparison.config import MOST_CELLS, Changes, Comparison, Grid, placed
from siloseal.experiments.comparison.fingerprints import fingerprint, program
from siloseal.experiments.comparison.measurements import JobMeasurement, Measurement, RoundsMeasurement
from siloseal.experiments.comparison.rows import Label
from siloseal.federation.config.loading import load_config, parse_config
from siloseal.federation.config.section import Section
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job


class _Place(Section):
    """Section around a measurement, under which its errors are reported."""

    cell: Measurement


@dataclass(frozen=True)
class Cell:
    """One measurement of a grid. Two cells with the same digest are the same measurement, and run once."""

    comparison: str
    grid: int
    labels: dict[str, Label]
    seed: int
    measurement: Measurement

    @cached_property
    def digest(self) -> str:
        """Digest of all settings and of their data: a change of either is another cell. Names are left out.

        The program is not in it, or every remark in the code would cost an hour: it is recorded beside the numbers, and
        the report says where cells were measured by another state of it.
        """
        settings = {"data": self._data, **self.measurement.model_dump(mode="json")}
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def program(self) -> str:
        """State of the program that would measure the cell now."""
        return program(attacks=self.measurement.kind in ("inversion", "audit", "cheating"))

    @property
    def _data(self) -> str:
        if not isinstance(self.measurement, JobMeasurement | RoundsMeasurement):
            return ""
        return fingerprint(self.measurement.job.data)

    @property
    def kinds(self) -> dict[str, str]:
        """Kinds of the sum and the noise that the cell is about."""
        settings = self.measurement.model_dump(mode="json")
        settings = settings.get("job", settings)
        found = {name: settings[name] for name in ("secure_sum", "mechanism") if settings.get(name)}
        return {name: one["kind"] if isinstance(one, dict) else str(one) for name, one in found.items()}

    @property
    def title(self) -> str:
        """Title of the cell, for people."""
        point = [f"{axis} {choice}" for axis, choice in self.labels.items()]
        return ", ".join([self.comparison, *point, f"seed {self.seed}"])


def load_comparisons(files: Sequence[Path]) -> list[tuple[Comparison, list[Cell]]]:
    """Return each file's comparison with its cells; `ConfigError` with every cell that cannot be."""
    loaded = [(path, load_config(Comparison, path)) for path in files]
    names = [comparison.name for _, comparison in loaded]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"{doubled[0]} names two comparisons; each writes files of its name: rename one")
    return [(comparison, expand(comparison, path)) for path, comparison in loaded]


def expand(comparison: Comparison, path: Path) -> list[Cell]:
    """Return all cells of all grids, in the order of the file."""
    cells, wrong = list[Cell](), list[str]()
    for number, grid in enumerate(comparison.grids):
        base = _base(grid, path, number)
        known = dict[str, dict[str, Label]]()
        for labels, changes in _points(grid):
            if "seed" in changes:
                wrong.append(f"{path}: grids.{number}: an axis changes `seed`; list `seeds` instead")
                break
            for seed in grid.seeds:
                where = f"{path}: grids.{number} ({_words(labels) or 'its only cell'})"
                try:
                    measurement = _resolve(base, changes, seed, where)
                except ConfigError as error:
                    wrong.append(str(error))
                    break  # another seed has the same mistake
                cells.append(cell := Cell(comparison.name, number, labels, seed, measurement))
                if (other := known.setdefault(cell.digest, labels)) != labels:
                    wrong.append(
                        f"{path}: grids.{number}: {_words(labels)} and {_words(other)} are the same measurement; one "
                        "axis overwrites another, or a choice changes nothing"
                    )
        if len(cells) > MOST_CELLS:
            raise ConfigError(f"{path}: more than {MOST_CELLS} cells; split it into several files")
    if wrong:
        raise ConfigError("\n".join(wrong))
    return cells


def _words(labels: dict[str, Label]) -> str:
    return ", ".join(f"{axis}: {choice}" for axis, choice in labels.items())


def _base(grid: Grid, path: Path, number: int) -> dict[str, Any]:
    """Return the measurement before anything varies; a job's file is read here, once."""
    match grid.measure:
        case {"kind": "job" | "rounds" as kind, "job": str(file), **others} if kind == "rounds" or not others:
            job = placed(file, path)
            if not job.is_file():
                raise ConfigError(
                    f"{path}: grids.{number}.measure: found no file {job}; name a job's, seen from this one"
                )
            load_config(Job, job)  # the file by itself must be right, and says where it is not
            return {"kind": kind, "job": yaml.safe_load(job.read_text(encoding="utf-8")), **others}
        case {"kind": "job"}:
            raise ConfigError(f"{path}: grids.{number}.measure: expected `kind: job` and `job: FILE`, nothing else")
        case {"kind": "rounds"}:
            raise ConfigError(f"{path}: grids.{number}.measure: expected `kind: rounds`, `job: FILE` and `target`")
    return dict(grid.measure)


def _points(grid: Grid) -> list[tuple[dict[str, Label], Changes]]:
    axes = [[(name, choice, changes) for choice, changes in axis.choices.items()] for name, axis in grid.vary.items()]
    points = []
    for combination in itertools.product(*axes):
        labels: dict[str, Label] = {name: choice for name, choice, _ in combination}
        points.append((labels, {key: value for _, _, changes in combination for key, value in changes.items()}))
    return points


def _resolve(base: dict[str, Any], changes: Changes, seed: int, where: str) -> Measurement:
    fields = deepcopy(base)
    of_a_job = fields.get("kind") in ("job", "rounds")
    settings = fields["job"] if of_a_job else fields
    for key, value in {**changes, "seed": seed}.items():
        _change(settings, key.split("."), value, where)
    if of_a_job:
        settings["name"] = JobMeasurement.NAME
    try:
        return parse_config(_Place, yaml.safe_dump({"cell": fields}), name=where).cell
    except ConfigError as error:
        # The lines are those of the text above, which nobody wrote: the place is the cell.
        lines = [line.replace("cell.job.", "", 1).replace("cell.", "", 1) for line in str(error).splitlines()]
        raise ConfigError("\n".join(re.sub(rf"^({re.escape(where)}):\d+:", r"\1:", line) for line in lines)) from None


def _change(fields: dict[str, Any], path: list[str], value: Any, where: str) -> None:
    """Set a value at its path, and make missing sections on the way. What does not fit is for the model to refuse."""
    *sections, last = path
    for section in sections:
        inner = fields.setdefault(section, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{where}: {'.'.join(path)}: {section} is {inner!r}, no section to change something in")
        fields = inner
    if value is None:
        fields.pop(last, None)  # `null` leaves a setting out
    else:
        fields[last] = deepcopy(value)
