"""docs/own-data.md: its sections are ones that a job, or a silo, takes."""

import pytest
import yaml
from pydantic import TypeAdapter

from siloseal.federation.job.sections.data import DataSource
from siloseal.silo.config import OwnData

from .pages import ROOT, blocks

PAGE = ROOT / "docs/own-data.md"
SECTIONS = blocks(PAGE, "yaml")


@pytest.mark.parametrize("text", SECTIONS, ids=[yaml.safe_load(text)["data"]["kind"] for text in SECTIONS])
def test_a_section_of_the_page_is_taken(text: str) -> None:
    source = yaml.safe_load(text)["data"]
    if text.startswith("# silo.yaml"):
        TypeAdapter(OwnData).validate_python(source)
    else:
        assert TypeAdapter(DataSource).validate_python(source).kind == source["kind"]


def test_every_kind_for_own_data_has_a_section() -> None:
    assert {yaml.safe_load(text)["data"]["kind"] for text in SECTIONS} == {"csv", "at_silos", "npz", "dicom"}
