"""What a fresh interpreter imports: reading a config needs no library of a scheme, and a command only what it uses."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import yaml

from siloseal.federation.sums.config import SumKind
from siloseal.provisioning.kits import provision

CONFIGS = Path(__file__).parents[1] / "configs"
HEAVY = {"torch", "tenseal", "gmpy2", "scipy", "sklearn", "matplotlib", "dp_accounting"}
"""Libraries that take long to import, or that one scheme needs and the others do not."""

LOAD = """
import sys
from importlib import import_module
from pathlib import Path
from siloseal.federation.config.loading import load_config
module, name, *files = sys.argv[1:]
for file in files:
    load_config(getattr(import_module(module), name), Path(file))
"""
CONSORTIUM = """
import sys
from pathlib import Path
from siloseal.aggregator.config import AggregatorConfig
from siloseal.federation.config.loading import parse_config
from siloseal.provisioning.config_files import aggregator_yaml, operator_yaml, silo_yaml
from siloseal.provisioning.consortium import OperatorConfig, read_consortium
from siloseal.silo.config import SiloConfig
consortium = read_consortium(Path(sys.argv[1]))
parse_config(AggregatorConfig, aggregator_yaml(consortium), name="aggregator.yaml")
parse_config(OperatorConfig, operator_yaml(consortium), name="operator.yaml")
for member in consortium.silos:
    parse_config(SiloConfig, silo_yaml(consortium, member), name="silo.yaml")
"""
COMMAND = """
import sys
from siloseal.cli.app import main
sys.argv[0] = "siloseal"
try:
    main()
except SystemExit:
    pass
"""


def imported(code: str, *arguments: str) -> set[str]:
    """Top-level packages that a fresh interpreter has imported after this code."""
    shown = "\nimport json, sys\nprint(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    ran = subprocess.run([sys.executable, "-c", code + shown, *arguments], check=True, capture_output=True, text=True)
    return set(json.loads(ran.stdout.splitlines()[-1]))


def shipped(key: str) -> list[str]:
    """Files of configs/ with this key at the top, which only one kind of config has."""
    found = [str(path) for path in sorted(CONFIGS.glob("*.yaml")) if key in yaml.safe_load(path.read_text())]
    assert found
    return found


class TestReadingAConfig:
    @pytest.mark.parametrize(
        ("module", "name", "key"),
        [
            ("siloseal.federation.job.job", "Job", "learner"),
            ("siloseal.federation.analytics.config", "AnalyticsJob", "queries"),
            ("siloseal.experiments.comparison.config", "Comparison", "grids"),
        ],
    )
    def test_imports_nothing_heavy(self, module: str, name: str, key: str) -> None:
        assert HEAVY & imported(LOAD, module, name, *shipped(key)) == set()

    def test_of_a_consortium_and_of_its_parties_imports_nothing_heavy(self) -> None:
        assert HEAVY & imported(CONSORTIUM, *shipped("policy")) == set()

    @pytest.mark.parametrize("kind", get_args(SumKind))
    def test_imports_nothing_heavy_whatever_the_sum(self, tmp_path: Path, kind: str) -> None:
        """A job admits its sum: over a few silos, and over as many as SecAgg+ draws a ring for."""
        job, files = yaml.safe_load((CONFIGS / "digits-fedavg.yaml").read_text()), list[str]()
        for silos in (5, 150):
            file = tmp_path / f"{silos}.yaml"
            file.write_text(yaml.safe_dump({**job, "silos": {"count": silos}, "secure_sum": {"kind": kind}}))
            files.append(str(file))
        assert HEAVY & imported(LOAD, "siloseal.federation.job.job", "Job", *files) == set()

    def test_is_not_light_because_the_test_is_blind(self) -> None:
        assert {"tenseal", "gmpy2"} <= imported(
            "import siloseal.federation.sums.rlwe.polynomial_ring, siloseal.federation.sums.one_key.paillier"
        )


class TestACommand:
    @pytest.mark.parametrize("command", [["--help"], ["--version"], ["plan", "--help"], ["status", "--help"]], ids=str)
    def test_says_what_it_is_for_without_any_library(self, command: list[str]) -> None:
        assert (HEAVY | {"numpy", "grpc", "cryptography"}) & imported(COMMAND, *command) == set()

    @pytest.mark.parametrize("command", ["plan", "run", "analytics"])
    def test_says_what_is_wrong_with_a_file_before_it_imports_anything_heavy(
        self, tmp_path: Path, command: str
    ) -> None:
        file = tmp_path / "wrong.yaml"
        file.write_text("name: wrong\nsilos: {count: 0}\n")
        assert HEAVY & imported(COMMAND, command, str(file)) == set()

    def test_status_imports_nothing_heavy(self, kits: Path) -> None:
        """Nobody listens there, so that it ends with an error; all that shows an answer is imported by then."""
        found = imported(COMMAND, "status", "--config", str(kits / "operator" / "operator.yaml"))
        assert "grpc" in found
        assert HEAVY & found == set()

    def test_plan_imports_torch_because_it_trains_a_few_steps(self) -> None:
        found = imported(COMMAND, "plan", str(CONFIGS / "digits-fedavg.yaml"))
        assert "torch" in found
        assert "matplotlib" not in found  # which draws figures of comparisons


@pytest.fixture
def kits(tmp_path: Path) -> Path:
    """Kits of the shipped consortium, whose aggregator is nowhere."""
    shutil.copytree(CONFIGS, tmp_path / "configs")
    text = (CONFIGS / "consortium.yaml").read_text()
    changed = text.replace("# keys: made_by_authority\n", "keys: made_by_authority\n").replace("8443 ", "1 ")
    assert changed.count("\nkeys: made_by_authority\n") == changed.count("  port: 1 ") == 1
    (tmp_path / "configs" / "consortium.yaml").write_text(changed)
    provision(tmp_path / "configs" / "consortium.yaml", tmp_path / "kits")
    return tmp_path / "kits"
