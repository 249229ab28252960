"""A file of one kind, given to whatever reads another: one line that says what it is and which command takes it."""

from itertools import permutations
from pathlib import Path

import pytest
from pydantic import BaseModel

from siloseal.aggregator.config import AggregatorConfig
from siloseal.experiments.comparison.config import Comparison
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.config.file_kinds import KINDS, kind_of
from siloseal.federation.config.loading import load_config, parse_config
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.records.roster import Roster
from siloseal.provisioning.config_files import aggregator_yaml, operator_yaml, silo_yaml
from siloseal.provisioning.consortium import Consortium, OperatorConfig, read_consortium
from siloseal.provisioning.request import Request, make_request
from siloseal.silo.config import SiloConfig

CONFIGS = Path(__file__).parents[3] / "configs"
MODELS: dict[str, type[BaseModel]] = {
    "digits.yaml": Job,
    "analytics.yaml": AnalyticsJob,
    "averages.yaml": AverageJob,
    "compare-sums.yaml": Comparison,
    "consortium.yaml": Consortium,
    "aggregator.yaml": AggregatorConfig,
    "silo.yaml": SiloConfig,
    "operator.yaml": OperatorConfig,
    "request.yaml": Request,
    "roster.yaml": Roster,
}
"""Model of each file."""
TAKEN = ("silo.yaml", "operator.yaml")
"""A silo's config has all that an operator's has; `siloseal status` takes both."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one right file of each kind."""
    folder = tmp_path_factory.mktemp("kinds")
    for shipped in ("digits.yaml", "analytics.yaml", "averages.yaml", "compare-sums.yaml", "consortium.yaml"):
        (folder / shipped).write_bytes((CONFIGS / shipped).read_bytes())
    consortium = read_consortium(CONFIGS / "consortium.yaml")
    (folder / "aggregator.yaml").write_text(aggregator_yaml(consortium))
    (folder / "operator.yaml").write_text(operator_yaml(consortium))
    (folder / "silo.yaml").write_text(silo_yaml(consortium, consortium.silos[0]))
    request = make_request("north", folder)
    (folder / "roster.yaml").write_text(f"consortium: trial\nidentities: {{north: '{request.identity}'}}\n")
    return folder


@pytest.mark.parametrize("name", MODELS)
def test_a_right_file_is_read_by_its_own_model(files: Path, name: str) -> None:
    load_config(MODELS[name], files / name)


@pytest.mark.parametrize(("found", "expected"), [pair for pair in permutations(MODELS, 2) if pair != TAKEN])
def test_the_wrong_file_is_one_line_with_what_it_is_and_who_takes_it(files: Path, found: str, expected: str) -> None:
    was, wanted = kind_of(MODELS[found].model_fields), kind_of(MODELS[expected].model_fields)
    assert was is not None
    assert wanted is not None
    with pytest.raises(ConfigError) as raised:
        load_config(MODELS[expected], files / found)
    assert str(raised.value) == f"{files / found}: is {was.name}, expected {wanted.name}; {was.use}"


def test_every_kind_is_that_of_one_model_and_rests_on_keys_that_its_files_must_have() -> None:
    by_model = [kind_of(model.model_fields) for model in MODELS.values()]
    assert sorted(KINDS, key=repr) == sorted((kind for kind in by_model if kind), key=repr)
    for model, kind in zip(MODELS.values(), by_model, strict=True):
        required = {name for name, field in model.model_fields.items() if field.is_required()}
        assert kind is not None
        assert kind.keys <= required


def test_a_job_with_a_key_of_another_kind_is_still_a_job_with_a_mistake() -> None:
    text = (CONFIGS / "digits.yaml").read_text() + "\nqueries: []\n"
    with pytest.raises(ConfigError, match="queries"):
        parse_config(Job, text, name="job.yaml")
