"""Configs: every mistake gets file, line, field, what was found and what would be right."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from siloseal.aggregator.config import AggregatorConfig
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.config.loading import load_config, parse_config, to_yaml
from siloseal.federation.config.section import Section
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.records.roster import Roster
from siloseal.silo.config import Policy

GOOD = """\
name: small
data: {kind: digits}
silos:
  names: [north, east]
  partition: {kind: iid}
learner: {kind: gan}
optimizer: {kind: dp_adam}
privacy:
  kind: example_level
  epsilon: 10
  delta: 1e-5
warm_start:
  kind: kernel_mean
  epsilon: 2
schedule:
  kind: two_phase
  batch: 64
  local_steps: 100
secure_sum: {kind: plain}
"""


def test_a_good_config_loads_and_its_numbers_are_numbers() -> None:
    job = parse_config(Job, GOOD, name="job.yaml")
    assert job.privacy.delta == 1e-5  # type: ignore[union-attr]
    assert job.silos.names == ("north", "east")


def test_a_resolved_config_is_the_same_job_again() -> None:
    job = parse_config(Job, GOOD, name="job.yaml")
    again = parse_config(Job, to_yaml(job), name="resolved.yaml")
    assert again == job
    assert again.digest == job.digest


def test_the_digest_changes_with_any_field() -> None:
    job = parse_config(Job, GOOD, name="job.yaml")
    assert parse_config(Job, GOOD.replace("batch: 64", "batch: 65"), name="job.yaml").digest != job.digest


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("  epsilon: 10", "  epsilon: -1", ["job.yaml:10: privacy.epsilon", "found -1", "greater than 0"]),
        ("name: small", 'name: "sm\\0all"', ["name", "NUL"]),
        ("  epsilon: 10", "  epsilon: true", ["job.yaml:8: privacy", "epsilon", "true"]),
        ("  epsilon: 10", "  epsilon: lots", ["job.yaml:10: privacy.epsilon", "'lots'", "number"]),
        ("  epsilon: 10", "  epsilon: .nan", ["job.yaml:10: privacy.epsilon", "nan", "finite"]),
        ("  epsilon: 10", "  epsilon: .inf", ["job.yaml:10: privacy.epsilon", "inf"]),
        ("  epsilon: 10\n", "", ["privacy.epsilon is missing", "phases together"]),
        ("  epsilon: 10", "  epsilonn: 10", ["job.yaml:10: privacy.epsilonn", "epsilon?"]),
        ("  batch: 64", "  frobnicate: 64", ["schedule.frobnicate", "batch,"]),
        ("name: small", "nmae: small", ["job.yaml:1: nmae", "name?"]),
        ("name: small", "name: ../escape", ["job.yaml:1: name", "'../escape'", "at most 64 of a-z, A-Z"]),
        ("  kind: two_phase", "  kind: three_phase", ["job.yaml:15: schedule", "three_phase", "'two_phase', 'fedavg'", "two_phase?"]),
        ("{kind: digits}", "{}", ["job.yaml:2: data", "no `kind`", "'embedded_mnist', 'digits'"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: rot13}", ["job.yaml:19: secure_sum", "rot13", "plain", "ckks"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: ckks, threshold: 3}", ["job.yaml:19: secure_sum.threshold is 3", "2 silos"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: ckks, threshold: 1}", ["job.yaml:19: secure_sum.threshold", "found 1"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: ckks_joint_key, statistical_distance_bits: 20}", ["statistical_distance_bits", "found 20", "equal to 40"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: ckks, precision_bits: 60}", ["secure_sum.precision_bits", "found 60"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: secag}", ["job.yaml:19: secure_sum: found secag", "'secagg', 'secagg_plus', 'additive', 'ring'", "secagg?"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: secagg, threshold: 1}", ["job.yaml:19: secure_sum.threshold: found 1", "equal to 2"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: secagg, threshold: 3}", ["job.yaml:19: secure_sum.threshold is 3", "2 silos"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: secagg, thresold: 2}", ["job.yaml:19: secure_sum.thresold", "threshold?"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: additive, threshold: 2}", ["job.yaml:19: secure_sum.threshold", "kind, precision_bits"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: additive, precision_bits: 41}", ["job.yaml:19: secure_sum.precision_bits: found 41", "equal to 40"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: ring}", ["job.yaml:19: secure_sum.kind is 'ring'", "ring of 2"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: secagg_plus, threshold: 2}", ["job.yaml:19: secure_sum.threshold", "correctness_bits, corrupt, dropout,"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: secagg_plus, corrupt: 0.4}", ["job.yaml:19: secure_sum.corrupt: found 0.4", "less than 0.333"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: secagg_plus, dropout: 0.6}", ["job.yaml:19: secure_sum.dropout: found 0.6", "less than 0.5"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: secagg_plus, security_bits: 10}", ["job.yaml:19: secure_sum.security_bits: found 10", "equal to 40"]),
        ("secure_sum: {kind: plain}", "secure_sum: {kind: secagg_plus, correctness_bits: 5}", ["job.yaml:19: secure_sum.correctness_bits: found 5", "equal to 10"]),
        ("  local_steps: 100", "  local_steps: 100\n  tuning_sum: {kind: ring}", ["job.yaml:19: schedule.tuning_sum.kind is 'ring'"]),
        ("  local_steps: 100", "  local_steps: 100\n  tuning_sum: {kind: ckks, threshold: 3}", ["job.yaml:19: schedule.tuning_sum.threshold is 3"]),
        ("[north, east]", "[north, North]", ["job.yaml:3: silos", "same name"]),
        ("[north, east]", "north", ["job.yaml:4: silos.names: found 'north'", "a list, in [brackets]"]),
        ("learner: {kind: gan}", "learner: gan", ["job.yaml:6: learner: found 'gan'", "`key: value` lines"]),
        ("{kind: digits}", "{kind: folder, path: x}", ["job.yaml:2: data.side is missing"]),
        ("  delta: 1e-5", "  delta: 1e-5\n  clip_norm: 1e300", ["job.yaml:12: privacy.clip_norm", "1000000"]),
        ("  epsilon: 2", "  epsilon: 2\n  frequencies: 1000000000000", ["warm_start.frequencies", "equal to 100000 "]),
        ("  epsilon: 2", "  epsilon: 2\n  length_scale: 1e-300", ["warm_start.length_scale", "0.001"]),
        ("{kind: digits}", "{kind: digits, side: 1000000}", ["job.yaml:2: data.side", "equal to 4096"]),
        ("[north, east]", "[]", ["job.yaml:4: silos.names", "at least 1"]),
        ("[north, east]", "[north, 'a/b']", ["job.yaml:4: silos.names.1", "'a/b'"]),
        ("  epsilon: 2", "  epsilon: 12", ["job.yaml:14: warm_start.epsilon is 12", "privacy.epsilon"]),
        ("  kind: kernel_mean\n  epsilon: 2", "  kind: leader\n  silo: west", ["job.yaml:14: warm_start.silo is 'west'", "north, east"]),
        ("{kind: iid}", "{kind: sizes, fractions: [0.5, 0.3, 0.2]}", ["job.yaml:5: silos.partition.fractions", "3 for 2"]),
        ("  epsilon: 2", "  epsilon: 2\n  frequencies: 1", ["warm_start.frequencies", "found 1"]),
        ("  kind: kernel_mean\n  epsilon: 2", "  kind: public\n  data: {kind: digits, limit: 50}", ["warm_start.data", "not public"]),
        ("  local_steps: 100", "  local_steps: 0", ["job.yaml:18: schedule.local_steps", "found 0", "equal to 1"]),
        ("  delta: 1e-5", "  delta: 1e-5\n  delta: 1e-6", ["job.yaml:12: delta", "twice"]),
        ("name: small", "name: [small", ["job.yaml:", "YAML"]),
        ("name: small", "\tname: small", ["job.yaml:1", "YAML"]),
    ],
)  # fmt: skip
def test_a_mistake_is_explained(old: str, new: str, expected: list[str]) -> None:
    assert old in GOOD
    with pytest.raises(ConfigError) as caught:
        parse_config(Job, GOOD.replace(old, new), name="job.yaml")
    for part in expected:
        assert part in str(caught.value)
    assert "pydantic" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (
            Roster,
            "consortium: a b",
            "x.yaml:1: consortium: found 'a b'; .* 64 ",
        ),
        (
            Roster,
            f"consortium: c\nidentities: {{north: {'ab' * 32}, east: {'ab' * 32}}}",
            "identity key",
        ),
        (Roster, "identities: {north: ab}", "x.yaml:1: identities.north: found 'ab'; expected 64 "),
        (
            Policy,
            "secure_sums: [ring, secag]",
            "x.yaml:1: secure_sums.1: found 'secag'; .*'ckks', 'secagg', 'secagg_plus', 'additive', 'ring'",
        ),
        (
            AggregatorConfig,
            "host: http://a.org",
            "x.yaml:1: host: found 'http://a.org'",
        ),
    ],
)
def test_what_a_text_must_look_like_fits_the_field(kind: type[Section], text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(kind, text, name="x.yaml")
    assert re.search(expected, str(caught.value))


@pytest.mark.parametrize(
    ("silos", "chosen", "expected"),
    [
        (1, "kind: ckks", "secure_sum.kind is 'ckks', "),
        (1, "kind: secagg", "secure_sum.kind is 'secagg', "),
        (1, "kind: additive", "secure_sum.kind is 'additive', "),
        (5, "kind: secagg, threshold: 2", "secure_sum.threshold is 2, "),
        (
            120,
            "kind: secagg_plus, corrupt: 0.3, dropout: 0.49",
            "secure_sum.kind is 'secagg_plus', but 120 silos ",
        ),
        (
            3000,
            "kind: secagg_plus, precision_bits: 40",
            "secure_sum.kind is 'secagg_plus', .* 3000 silos ",
        ),
    ],
)
def test_a_sum_that_does_not_fit_the_number_of_silos_is_refused_with_what_would(
    silos: int, chosen: str, expected: str
) -> None:
    names = ", ".join(f"silo{number}" for number in range(silos))
    text = GOOD.replace("north, east", names).replace("kind: plain", chosen)
    with pytest.raises(ConfigError) as caught:
        parse_config(Job, text, name="job.yaml")
    assert re.match(f"job.yaml:19: {expected}", str(caught.value))


@pytest.mark.parametrize(
    ("silos", "chosen"),
    [
        (2, "kind: secagg, threshold: 2"),
        (2, "kind: additive"),
        (3, "kind: ring"),
        (3, "kind: secagg, threshold: 2"),
        (3, "kind: secagg_plus"),
        (120, "kind: secagg_plus"),
    ],
)
def test_a_sum_that_just_fits_is_taken(silos: int, chosen: str) -> None:
    names = ", ".join(f"silo{number}" for number in range(silos))
    text = GOOD.replace("north, east", names).replace("kind: plain", chosen)
    assert chosen.startswith(f"kind: {parse_config(Job, text, name='job.yaml').secure_sum.kind}")


@pytest.mark.parametrize("kind", ["ckks", "secagg", "additive"])
def test_a_sum_that_hides_must_fit_the_part_of_the_silos_that_a_round_asks(kind: str) -> None:
    fedavg = "  kind: fedavg\n  rounds: 2\n  fraction: 0.5\n  batch: 64\n"
    text = GOOD.replace("{kind: plain}", f"{{kind: {kind}}}")
    text = text.replace("  kind: two_phase\n  batch: 64\n  local_steps: 100\n", fedavg)
    with pytest.raises(ConfigError, match=rf"secure_sum\.kind is '{kind}'.* 1 of 2: .*schedule\.fraction"):
        parse_config(Job, text, name="job.yaml")
    parse_config(Job, text.replace("[north, east]", "[north, east, south]"), name="job.yaml")


@pytest.mark.parametrize("kind", ["ckks", "secagg"])
def test_a_sum_that_hides_must_fit_everyone_where_the_kernel_mean_asks_everyone(kind: str) -> None:
    """A threshold of 2 serves the three silos of a round, and not the five of the warm start."""
    names, fedavg = "north, east, south, west, coast", "  kind: fedavg\n  rounds: 2\n  fraction: 0.6\n  batch: 64\n"
    text = GOOD.replace("north, east", names).replace("{kind: plain}", f"{{kind: {kind}, threshold: 2}}")
    text = text.replace("  kind: two_phase\n  batch: 64\n  local_steps: 100\n", fedavg)
    with pytest.raises(ConfigError, match=r"secure_sum\.threshold is 2, .* 5 silos"):
        parse_config(Job, text, name="job.yaml")
    parse_config(Job, text.replace("  kind: kernel_mean\n  epsilon: 2\n", "  kind: none\n"), name="job.yaml")


def test_all_mistakes_are_told_at_once() -> None:
    text = GOOD.replace("  epsilon: 10", "  epsilon: -1").replace("  batch: 64", "  batch: 0")
    with pytest.raises(ConfigError) as caught:
        parse_config(Job, text, name="job.yaml")
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize(("text", "words"), [("", "empty"), ("a: &a [*a]", "itself"), ("a: " + "[" * 3000, "nested")])
def test_a_file_that_is_no_config_at_all_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_config(Job, text, name="job.yaml")


@pytest.mark.parametrize("text", ["- a list", "just words", "42"])
def test_a_file_that_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="key: value"):
        parse_config(Job, text, name="job.yaml")


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.yaml"):
        load_config(Job, tmp_path / "missing.yaml")
    with pytest.raises(ConfigError, match=str(tmp_path)):
        load_config(Job, tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"binary\.yaml"):
        load_config(Job, tmp_path / "binary.yaml")


def test_every_field_of_every_section_says_what_it_means() -> None:
    schema = Job.model_json_schema()
    for name, section in {"Job": schema, **schema["$defs"]}.items():
        for field, details in section.get("properties", {}).items():
            assert details.get("description"), f"{name}.{field} has no description"


CONFIGS = Path(__file__).parents[3] / "configs"


@pytest.mark.parametrize(
    "path",  # comparisons have a test of their own
    [path for path in sorted(CONFIGS.glob("[!c]*.yaml")) if not path.name.startswith("full-")],
    ids=lambda p: p.name,
)
def test_every_config_that_ships_is_valid(path: Path) -> None:
    kinds = {"analytics": AnalyticsJob, "averages": AverageJob}
    load_config(next((kind for name, kind in kinds.items() if path.name.startswith(name)), Job), path)


def test_a_count_of_silos_stands_for_as_many_names(small_job: Callable[..., Job]) -> None:
    job = small_job(silos={"count": 12})
    assert job.silos.names[0] == "silo-1"
    assert len(job.silos.names) == 12
    assert job.digest == small_job(silos={"names": list(job.silos.names)}).digest


@pytest.mark.parametrize("count", [0, 1.5, "many", True, 10**9])
def test_a_count_that_is_none_is_refused(small_job: Callable[..., Job], count: object) -> None:
    with pytest.raises(ValidationError, match=r"count is .* 1 to "):
        small_job(silos={"count": count})


def test_an_epsilon_that_promises_nothing_is_for_fixed_noise_only(small_job: Callable[..., Job]) -> None:
    private = {"kind": "example_level", "epsilon": 1e9, "delta": 1e-5}
    with pytest.raises(ValidationError, match=r"epsilon is .*noise_multiplier"):
        small_job(privacy=private)
    assert small_job(privacy={**private, "noise_multiplier": 0.005}).privacy.kind == "example_level"


def test_names_and_a_count_together_are_refused(small_job: Callable[..., Job]) -> None:
    with pytest.raises(ValidationError, match=r"names .*count"):
        small_job(silos={"names": ["north", "east"], "count": 2})
