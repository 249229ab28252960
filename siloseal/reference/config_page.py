"""docs/config.md: every key of every YAML file, from the fields' own types, bounds, defaults and descriptions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import BaseModel, TypeAdapter

from siloseal.aggregator.config import AggregatorConfig
from siloseal.experiments.comparison.config import Comparison
from siloseal.experiments.comparison.measurements import Measurement
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.job.job import Job
from siloseal.provisioning.consortium import Consortium, OperatorConfig
from siloseal.reference.markdown import GENERATED, anchor, paragraphs, table
from siloseal.reference.values import Schema, default_text, members, value_text
from siloseal.silo.config import SiloConfig


class File(NamedTuple):
    """One kind of YAML file."""

    title: str
    model: type[BaseModel]
    readers: str
    """Commands that read it."""
    example: str = ""
    """Path of an example."""


FILES = (
    File("Job", Job, "`siloseal plan` and `siloseal run`", "configs/digits.yaml"),
    File("Consortium", Consortium, "`siloseal provision`", "configs/consortium.yaml"),
    File("Silo", SiloConfig, "`siloseal silo`, as `silo.yaml` in a silo's kit"),
    File("Aggregator", AggregatorConfig, "`siloseal aggregator`, as `aggregator.yaml` in its kit"),
    File("Operator", OperatorConfig, "`siloseal status`, as `operator.yaml` in the operator's kit"),
    File("Analytics", AnalyticsJob, "`siloseal analytics`", "configs/analytics.yaml"),
    File("Averages", AverageJob, "a consortium whose silos run their own scripts", "configs/averages.yaml"),
    File("Comparison", Comparison, "`siloseal compare`", "configs/compare-noise.yaml"),
)


def config_page() -> str:
    """The whole page."""
    page = _Page()
    parts = [
        "# Config files",
        GENERATED,
        "Every key of every YAML file. An unknown key is refused, with its line. Some sections come in kinds: `kind` "
        "says which one it is, and the other keys depend on it.",
        "\n".join(f"- [{file.title}](#{anchor(file.title)}): for {file.readers}" for file in FILES),
    ]
    for file in FILES:
        parts += page.file(file)
    parts += page.section("Comparison: measure", TypeAdapter(Measurement).json_schema())
    return "\n\n".join(parts) + "\n"


class _Page:
    """Describes each section once, where it is met first, and links to it from elsewhere."""

    def __init__(self) -> None:
        self._headings = {file.model.__name__: file.title for file in FILES}
        """Names of a section's models to its heading."""
        self._described = dict[str, str]()
        """Name of a kind's model to the heading below which it is described."""

    def file(self, file: File) -> Iterator[str]:
        schema = file.model.model_json_schema()
        yield f"## {file.title}"
        yield paragraphs(schema["description"])
        example = f" [An example](../{file.example}) has comments." if file.example else ""
        yield f"For {file.readers}.{example}"
        keys, ahead = self._keys(file.title, schema)
        yield keys
        yield from self._sections(ahead, schema.get("$defs", {}))

    def section(self, heading: str, schema: Schema) -> Iterator[str]:
        """A section that no file's schema holds."""
        yield f"### {heading}"
        yield from self._kinds(heading, schema, schema["$defs"])

    def _keys(self, owner: str, schema: Schema) -> tuple[str, list[tuple[str, Schema]]]:
        """The table of a model's keys, and the sections that are met here first."""
        required, rows, ahead = schema.get("required", ()), list[tuple[str, ...]](), list[tuple[str, Schema]]()
        for key, field in schema.get("properties", {}).items():
            if "const" in field:  # the kind, which the heading says
                continue
            link = ""
            if names := members(field):
                known = " ".join(names)
                if known not in self._headings:
                    self._headings[known] = f"{owner.split(':')[0]}: {_path(owner, key)}"
                    ahead.append((self._headings[known], field))
                link = anchor(self._headings[known])
            default = "required" if key in required else default_text(field)
            rows.append((f"`{key}`", field.get("description", ""), value_text(field, link), default))
        return table(("key", "meaning", "value", "default"), rows) if rows else "No further keys.", ahead

    def _sections(self, ahead: Sequence[tuple[str, Schema]], models: Mapping[str, Schema]) -> Iterator[str]:
        for heading, field in ahead:
            yield f"### {heading}"
            yield from self._kinds(heading, field, models)

    def _kinds(self, heading: str, field: Schema, models: Mapping[str, Schema]) -> Iterator[str]:
        """A section of one shape, or one part for each of its kinds; then the sections that they hold."""
        names, ahead = members(field), list[tuple[str, Schema]]()
        yield from self._links([name for name in names if name in self._described], models)
        for name in names:
            if name in self._described:
                continue
            self._described[name] = heading
            model = models[name]
            if kind := model.get("properties", {}).get("kind", {}).get("const"):
                yield f"#### `kind: {kind}`"
            yield paragraphs(model.get("description", ""))
            keys, inner = self._keys(heading, model)
            yield keys
            ahead += inner
        yield from self._sections(ahead, models)

    def _links(self, names: Sequence[str], models: Mapping[str, Schema]) -> Iterator[str]:
        """Links to the sections that describe these kinds already."""
        for heading in dict.fromkeys(self._described[name] for name in names):
            here = [models[name]["properties"]["kind"]["const"] for name in names if self._described[name] == heading]
            kinds = ", ".join(f"`{kind}`" for kind in here)
            yield f"{'Kind' if len(here) == 1 else 'Kinds'} {kinds}: see [{heading}](#{anchor(heading)})."


def _path(owner: str, key: str) -> str:
    """Path of a section in its file: the keys that lead to it, with dots."""
    _, _, outer = owner.partition(": ")
    return f"{outer}.{key}" if outer else key
