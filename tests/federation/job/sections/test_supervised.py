"""How code of the user's own is written in a job and in a policy; what is wrong is said in words, without a pattern."""

import pytest
from pydantic import TypeAdapter, ValidationError

from siloseal.federation.config.loading import check_values
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.learners import AllowedLearner
from siloseal.federation.job.sections.supervised import ClassifierConfig, PythonConfig

DIGEST = f"sha256:{'a' * 64}"
CLASSIFIER = {"kind": "classifier"}


@pytest.mark.parametrize("model", ["cnn", "xray:build", "mylab.nets:Net"])
def test_a_network_is_named_by_its_name_or_as_module_and_name(model: str) -> None:
    assert ClassifierConfig.model_validate({**CLASSIFIER, "model": model}).model == model


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (ClassifierConfig, {**CLASSIFIER, "model": "xray.build"}),
        (ClassifierConfig, {**CLASSIFIER, "model": "cnn\n"}),
        (ClassifierConfig, {**CLASSIFIER, "model": "xray:build", "source": "a" * 64}),
        (ClassifierConfig, {**CLASSIFIER, "model": "cnn", "weights": "w", "weights_source": "sha256:abc"}),
        (PythonConfig, {"kind": "python", "target": "mylearner.py"}),
        (PythonConfig, {"kind": "python", "target": "mylearner:Regression()"}),
    ],
)
def test_what_is_written_otherwise_is_refused_without_a_regular_expression(
    kind: type[ClassifierConfig | PythonConfig], values: dict[str, str]
) -> None:
    with pytest.raises(ConfigError) as refused:
        check_values(kind, values)
    assert not any(sign in str(refused.value) for sign in ("[A-Za-z", "[0-9a-f]", "|", "^"))


@pytest.mark.parametrize("entry", ["xray:build", "python", "classifier:xray:build", f"gan:xray:build@{DIGEST}"])
def test_a_policys_entry_that_is_none_is_refused_without_a_regular_expression(entry: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(AllowedLearner).validate_python(entry)
    (problem,) = refused.value.errors()
    assert problem["type"] == "value_error"
    assert not any(sign in problem["msg"] for sign in ("[A-Za-z", "[0-9a-f]", "|", "^"))


@pytest.mark.parametrize("field", ["source", "weights_source"])
def test_a_digest_of_nothing_is_refused(field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        check_values(ClassifierConfig, {**CLASSIFIER, "model": "cnn", field: DIGEST})
