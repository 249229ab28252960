"""Fields that YAML reads as something else than what was meant."""

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from siloseal.federation.config.fields import Delta, Value
from siloseal.federation.config.loading import parse_config
from siloseal.federation.config.section import Section
from siloseal.federation.errors import ConfigError

VALUES = TypeAdapter(tuple[Value, ...])


def test_values_of_a_table_are_texts_though_yaml_reads_numbers() -> None:
    assert VALUES.validate_python(yaml.safe_load('[f, 1, "yes"]')) == ("f", "1", "yes")


@pytest.mark.parametrize("text", ["[yes, no]", "[true, false]", "[on, off]"])
def test_words_that_yaml_reads_as_booleans_must_be_quoted(text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        VALUES.validate_python(yaml.safe_load(text))
    assert {problem["type"] for problem in refused.value.errors()} == {"value_error"}


class Promise(Section):
    """A section with a delta."""

    delta: Delta


def test_a_delta_that_accountants_would_round_to_0_is_refused_with_the_smallest() -> None:
    """Plan, run and audit disagreed at 1e-320: 0, 0.00 and infinity."""
    assert parse_config(Promise, "delta: 1e-100", name="job.yaml").delta == 1e-100
    for delta in ("1e-320", "1e-101", "0"):
        with pytest.raises(ConfigError, match=r"job\.yaml:1: delta.*1e-100(?!\d)"):
            parse_config(Promise, f"delta: {delta}", name="job.yaml")


class Kinds(Section):
    """A section with fields of several types."""

    number: float | None = None
    whole: int = 0
    text: str = ""


@pytest.mark.parametrize(("field", "expected"), [("number", "a number"), ("whole", "a number"), ("text", "word")])
def test_a_boolean_is_refused_with_what_the_field_takes(field: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=rf"{field} .* {expected}$"):
        parse_config(Kinds, f"{field}: true", name="job.yaml")
