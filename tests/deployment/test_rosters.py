"""The aggregator's own copy of the roster."""

from collections.abc import Callable
from unittest.mock import Mock

import pytest
import yaml

from siloseal.aggregator.deployed import DeployedAggregator
from siloseal.federation.errors import ConfigError
from siloseal.federation.run_events.stream import unheard
from siloseal.runs.deployment import run_aggregator

from .conftest import Consortium


def test_one_without_a_silo_of_the_job_or_none_at_all_ends_the_aggregator_before_it_listens(
    consortium_of: Callable[..., Consortium], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeployedAggregator, "run", Mock(side_effect=AssertionError("it listens")))
    kit = consortium_of().kits / "aggregator"
    roster = yaml.safe_load((kit / "roster.yaml").read_text())
    del roster["identities"]["east"]
    roster["keys_made_by_authority"].remove("east")
    (kit / "roster.yaml").write_text(yaml.safe_dump(roster))
    with pytest.raises(ConfigError, match=r"roster\.yaml.* east"):
        run_aggregator(kit / "aggregator.yaml", unheard)
    (kit / "roster.yaml").unlink()
    with pytest.raises(ConfigError, match=r"roster\.yaml"):
        run_aggregator(kit / "aggregator.yaml", unheard)
