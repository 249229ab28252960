"""The aggregator's own file, as earlier versions wrote it."""

import pytest

from siloseal.aggregator.config import AggregatorConfig
from siloseal.federation.config.loading import parse_config
from siloseal.federation.errors import ConfigError

FILE = """\
port: 8443
job: job.yaml
tls: {certificate: aggregator.crt, key: aggregator.key, authority: ca.crt}
revoked: revoked.pem
state: state
"""


def test_a_limit_that_an_earlier_version_wrote_is_refused_with_what_to_do() -> None:
    assert parse_config(AggregatorConfig, FILE, name="aggregator.yaml").port == 8443
    with pytest.raises(ConfigError, match=r"aggregator\.yaml:6: limits "):
        parse_config(AggregatorConfig, f"{FILE}limits: {{message_mib: 1024}}\n", name="aggregator.yaml")
