"""Fields that YAML reads as something else than what was meant."""

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from siloseal.federation.config.fields import Value

VALUES = TypeAdapter(tuple[Value, ...])


def test_values_of_a_table_are_texts_though_yaml_reads_numbers() -> None:
    assert VALUES.validate_python(yaml.safe_load('[f, 1, "yes"]')) == ("f", "1", "yes")


@pytest.mark.parametrize("text", ["[yes, no]", "[true, false]", "[on, off]"])
def test_words_that_yaml_reads_as_booleans_must_be_quoted(text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        VALUES.validate_python(yaml.safe_load(text))
    assert {problem["type"] for problem in refused.value.errors()} == {"value_error"}
