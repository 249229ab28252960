"""Every kind that a job can name is one that a policy can name, and one that a contract tries.

The names of a union stand a second time in a `Literal`, so that mypy knows them. Tables of the contracts are read for
every scheme, so that one without an entry is an error and not a test less.
"""

import re
from typing import get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from siloseal.federation.analytics.config import AnyQuery, QueryKind
from siloseal.federation.job.sections.learners import AllowedLearner, LearnerConfig
from siloseal.federation.job.sections.mechanisms import MechanismConfig, MechanismKind
from siloseal.federation.job.sections.privacy import PrivacyConfig
from siloseal.federation.job.sections.server_optimizers import ServerOptimizerConfig
from siloseal.federation.sums.config import NamedSum, SecureSumConfig, SumKind
from siloseal.silo.config import Policy

from .carried import ADVERTISED_OF_SCHEME, SEALED_OF_SCHEME
from .schemes import ALL_SCHEMES, HIDING, SCHEME_OF_KIND, UPLOAD_ROUND
from .test_learners import LEARNERS
from .test_mechanisms import ALL_MECHANISMS
from .test_server_optimizers import SERVERS


def kinds_of(union: object) -> set[str]:
    """Kinds of the models of a tagged union, as a config spells them."""
    models, _ = get_args(union)
    return {kind for model in get_args(models) for kind in get_args(model.model_fields["kind"].annotation)}


@pytest.mark.parametrize(
    ("field", "union"),
    {
        "secure_sums": SecureSumConfig,
        "tuning_sums": SecureSumConfig,
        "mechanisms": MechanismConfig,
        "queries": AnyQuery,
        "privacy": PrivacyConfig,
    }.items(),
)
def test_a_policy_can_name_what_a_job_can(field: str, union: object) -> None:
    literal, _ = get_args(Policy.model_fields[field].annotation)
    assert set(get_args(literal)) == kinds_of(union)


@pytest.mark.parametrize("kind", sorted(kinds_of(LearnerConfig) - {"python"}))
def test_a_policy_can_name_every_built_in_learner(kind: str) -> None:
    assert TypeAdapter(AllowedLearner).validate_python(kind) == kind


@pytest.mark.parametrize("code", ["classifier:xray:build", "python:mylab.learner:MyLearner"])
def test_a_policy_names_code_of_the_users_own_with_its_digest(code: str) -> None:
    entry = f"{code}@sha256:{'0' * 64}"
    assert TypeAdapter(AllowedLearner).validate_python(entry) == entry
    for wrong in (code, "python", f"{code}@sha256:0", f"gan:{entry}"):
        with pytest.raises(ValidationError):
            TypeAdapter(AllowedLearner).validate_python(wrong)


def test_the_kinds_that_tests_and_commands_run_over_are_all_of_them() -> None:
    assert set(get_args(SumKind)) == kinds_of(SecureSumConfig)
    assert set(get_args(MechanismKind)) == kinds_of(MechanismConfig)
    assert set(get_args(QueryKind)) == kinds_of(AnyQuery)


class TestTheContracts:
    def test_try_every_sum(self) -> None:
        assert set(SCHEME_OF_KIND) == kinds_of(SecureSumConfig)

    @pytest.mark.parametrize("kind", SCHEME_OF_KIND)
    def test_try_the_sum_that_a_job_gets(self, kind: SumKind) -> None:
        """Its name says scheme and parameters; only a key may be shorter."""
        scheme = NamedSum.model_validate({"secure_sum": {"kind": kind}}).secure_sum.build()
        tried, built = (re.sub(r"key_bits=\d+", "", each.name) for each in (SCHEME_OF_KIND[kind], scheme))
        assert tried == built

    def test_have_a_message_to_alter_for_every_sum_that_hides_or_say_that_there_is_none(self) -> None:
        assert set(ADVERTISED_OF_SCHEME) == set(HIDING)
        assert set(SEALED_OF_SCHEME) == set(HIDING)

    def test_know_the_upload_of_every_sum_that_goes_on_without_a_silo(self) -> None:
        assert {scheme: upload is None for scheme, upload in UPLOAD_ROUND.items()} == {
            scheme: scheme.fewest(4) == 4 for scheme in ALL_SCHEMES
        }

    def test_try_every_mechanism_that_adds_noise(self) -> None:
        assert {name.split()[0] for name in ALL_MECHANISMS} == kinds_of(MechanismConfig) - {"none"}

    def test_try_every_learner(self) -> None:
        assert {learner["kind"] for learner in LEARNERS.values()} == kinds_of(LearnerConfig)

    def test_try_every_server_optimizer(self) -> None:
        assert {server["kind"] for server in SERVERS.values()} == kinds_of(ServerOptimizerConfig)
