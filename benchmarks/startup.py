"""How long a command takes before a person sees something, in fresh processes, beside a bare interpreter.

  python benchmarks/startup.py [--json] [--repeats N] [--job CONFIG]

Each figure is the median over --repeats turns of the wall time of a whole process, from its start to its end, in
milliseconds. Turns alternate, so that a busy moment meets all of them.

  python_ms         python -c pass: what nothing here can be faster than
  torch_ms          python -c "import torch": what a command that trains cannot be faster than
  help_ms           siloseal --help
  status_ms         siloseal status with an operator's kit, at an address where nobody listens: config, certificates,
                    one refused connection and its diagnosis. It imports gRPC, and no torch, tenseal or matplotlib.
  plan_refused_ms   siloseal plan of a job with a mistake, which it says before torch is imported
  plan_ms           siloseal plan of --job. It needs torch: it reads the data, builds the model, times a few training
                    steps on this machine, and runs each secure sum once on zeros to count its bytes. Beside torch it
                    imports dp-accounting and scipy for epsilon, and tenseal, gmpy2 or scikit-learn if the job's sums or
                    data need them.

tests/test_what_is_imported.py holds the commands to what they may import.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import yaml

from siloseal.provisioning.addresses import free_port
from siloseal.provisioning.kits import provision

CONFIGS = Path(__file__).parents[1] / "configs"
SILOSEAL = [sys.executable, "-m", "siloseal"]


def commands(folder: Path, job: Path) -> dict[str, list[str]]:
    """The command behind each figure."""
    refused = folder / "refused.yaml"
    refused.write_text(yaml.safe_dump({**yaml.safe_load(job.read_text()), "seed": -1}))
    operator = make_kits(folder) / "operator" / "operator.yaml"
    return {
        "python_ms": [sys.executable, "-c", "pass"],
        "torch_ms": [sys.executable, "-c", "import torch"],
        "help_ms": [*SILOSEAL, "--help"],
        "status_ms": [*SILOSEAL, "status", "--config", str(operator)],
        "plan_refused_ms": [*SILOSEAL, "plan", str(refused)],
        "plan_ms": [*SILOSEAL, "plan", str(job)],
    }


def make_kits(folder: Path) -> Path:
    """Kits of the shipped consortium, whose aggregator does not run."""
    consortium = yaml.safe_load((CONFIGS / "consortium.yaml").read_text())
    place = {**consortium["aggregator"], "host": "127.0.0.1", "port": free_port()}
    file = folder / "consortium.yaml"
    job = str(CONFIGS / consortium["job"])
    file.write_text(yaml.safe_dump({**consortium, "aggregator": place, "job": job, "keys": "made_by_authority"}))
    provision(file, folder / "kits")
    return folder / "kits"


def measure(commands: Mapping[str, Sequence[str]], repeats: int) -> dict[str, float]:
    """The median wall time of each command, in milliseconds; one turn before that fills the caches of the disk."""
    taken = {name: list[float]() for name in commands}
    for turn in range(repeats + 1):
        for name, command in commands.items():
            seconds = timed(command, fails=name in ("status_ms", "plan_refused_ms"))
            if turn:
                taken[name].append(1000 * seconds)
    return {name: round(median(times), 1) for name, times in taken.items()}


def timed(command: Sequence[str], *, fails: bool) -> float:
    """Seconds of a process that ends as it should."""
    began = time.perf_counter()
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own commands)
    seconds = time.perf_counter() - began
    if (ran.returncode != 0) != fails or "Traceback" in ran.stderr:
        raise SystemExit(f"{' '.join(command)} ended with {ran.returncode}:\n{ran.stderr}")
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Start-up of the commands.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--job", type=Path, default=CONFIGS / "digits-fedavg.yaml")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(commands(Path(folder), options.job), options.repeats)
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        print("\n".join(f"{name:17} {value:8.1f}" for name, value in found.items()))


if __name__ == "__main__":
    main()
