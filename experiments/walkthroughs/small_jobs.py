"""The jobs of configs/ in small: what a walkthrough changes stands in the walkthrough."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from siloseal.federation.job.job import Job

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


def small_job(config: str, changes: Mapping[str, Mapping[str, Any]]) -> Job:
    """Return the job of this file with some fields of its sections replaced."""
    sections = yaml.safe_load((CONFIGS / config).read_text())
    changed = {name: _changed(sections.get(name, {}), fields) for name, fields in changes.items()}
    return Job.model_validate({**sections, **changed})


def _changed(section: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A section with these fields. One of another kind replaces it as a whole: the fields of two kinds do not mix."""
    of_another_kind = "kind" in fields and fields["kind"] != section.get("kind")
    return dict(fields) if of_another_kind else {**section, **fields}
