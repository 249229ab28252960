"""Throughput of the transport against a bare gRPC stream, memory over rounds, and a job of many silos.

  python benchmarks/transport.py [--json] [--mib N] [--repeats N] [--rounds N] [--silos N]

Every part is the real thing: kits from `provision`, mutual TLS on loopback, the aggregator as a process of its own.

  upload_mib_s      one reply of N MiB delivered: TLS, chunks, running digests, size checks, receipt
  download_mib_s    one request of N MiB fetched by an attending silo
  bare_*_mib_s      the same bytes in the same chunks over a gRPC stream, joined at the end: no TLS, digests or checks
  *_ratio           ours of the bare one, medians of turns that alternate in the same run
  memory_mib        resident memory of the aggregator's process after a tenth of --rounds rounds of FedAvg and at the
                    end: three silos, plain sums
  silos_s           a whole plain-sum job of --silos silos: each in a thread of one process, with its own certificate,
                    connection, ledger and state
"""

import argparse
import json
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import grpc
import torch
import yaml

from siloseal.aggregator.admission import Admission
from siloseal.aggregator.config import AggregatorConfig
from siloseal.aggregator.request_queue import RequestQueue
from siloseal.aggregator.service import ConsortiumService, serving
from siloseal.federation.config.loading import load_config
from siloseal.federation.config.section import placed
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.run_events.stream import unheard
from siloseal.federation.transport.chunks import CHUNK_BYTES
from siloseal.federation.transport.pki.certificates import Revocations, Role
from siloseal.federation.transport.tls import read_credentials
from siloseal.federation.transport.wire import consortium_pb2 as pb
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION
from siloseal.provisioning.addresses import free_port
from siloseal.provisioning.kits import provision
from siloseal.runs.deployment import run_aggregator
from siloseal.silo.client import AggregatorClient
from siloseal.silo.config import SiloConfig
from siloseal.silo.deployed import DeployedSilo

Process = multiprocessing.process.BaseProcess
Result = dict[str, Any]
MIB = 2**20
CONTEXT = multiprocessing.get_context("spawn")
RUN = bytes(32)


def make_kits(folder: Path, *, silos: int, schedule: dict[str, Any]) -> Path:
    """A consortium on scikit-learn's digits."""
    names = [f"silo-{number}" for number in range(silos)]
    job = {
        "name": "transport", "data": {"kind": "at_silos"}, "silos": {"names": names}, "schedule": schedule,
        "learner": {"kind": "gan", "latent": 8}, "optimizer": {"kind": "dp_adam", "learning_rate": 1e-3},
        "privacy": {"kind": "example_level", "epsilon": 10, "delta": 1e-5}, "warm_start": {"kind": "none"},
        "secure_sum": {"kind": "plain"},
    }  # fmt: skip
    policy = {
        "largest_epsilon": 10, "largest_delta": 1e-5, "fewest_silos": 2, "secure_sums": ["plain"],
        "tuning_sums": ["plain"], "privacy": ["example_level"], "learners": ["gan"], "largest_model": 10**6,
    }  # fmt: skip
    consortium = {
        "name": "transport", "job": "job.yaml", "policy": policy, "keys": "made_by_authority",
        "aggregator": {"host": "localhost", "port": free_port(), "listen": "127.0.0.1"},
        "silos": [{"name": name, "data": {"kind": "digits", "limit": 60}} for name in names],
    }  # fmt: skip
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    (folder / "consortium.yaml").write_text(yaml.safe_dump(consortium))
    provision(folder / "consortium.yaml", folder / "kits")
    return folder / "kits"


def silo_config(kits: Path, name: str) -> SiloConfig:
    """The silo's config, as the silo itself would read it."""
    return placed(load_config(SiloConfig, kits / name / "silo.yaml"), kits / name)


def serve_both(kits: Path, mib: int, out: Connection) -> None:
    """Serve, in another process, our service with a request of `mib` MiB waiting, and the bare one."""
    path = kits / "aggregator" / "aggregator.yaml"
    config = placed(load_config(AggregatorConfig, path), path.parent)
    credentials = read_credentials(config.tls, role=Role.AGGREGATOR)
    revocations = Revocations(config.revoked, credentials.authority, remembered=config.state / "newest_revoked.json")
    admission = Admission("transport", ("silo-0",), revocations)
    payload, request_queue = bytes(mib * MIB), RequestQueue(("silo-0",), unheard)
    offer = pb.JobOffer(run_id=RUN, protocol_version=PROTOCOL_VERSION)
    service = ConsortiumService(offer, request_queue, admission, pb.StatusReport, unheard)

    def ask_forever() -> None:
        while True:
            request_queue.ask(
                {"silo-0": payload}, deadline_seconds=1e6, fewest=1, largest=2 * mib * MIB, accept=lambda *_: None
            )

    def fetch(request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        yield from (payload[start : start + CHUNK_BYTES] for start in range(0, len(payload), CHUNK_BYTES))

    def deliver(chunks: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        return str(len(b"".join(chunks))).encode()

    threading.Thread(target=ask_forever, daemon=True).start()
    bare = grpc.server(futures.ThreadPoolExecutor(2))
    handlers = {
        "Fetch": grpc.unary_stream_rpc_method_handler(fetch),
        "Deliver": grpc.stream_unary_rpc_method_handler(deliver),
    }
    bare.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bare", handlers),))
    port = bare.add_insecure_port("127.0.0.1:0")
    bare.start()
    with serving(service, credentials, address=f"127.0.0.1:{config.port}", silos=1):
        out.send(port)
        out.recv()


def throughput(kits: Path, *, mib: int, repeats: int) -> Result:
    """Throughput in MiB a second, ours and the bare one in turns."""
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=serve_both, args=(kits, mib, there), daemon=True)
    process.start()
    bare = grpc.insecure_channel(f"127.0.0.1:{here.recv()}")
    fetch, deliver = bare.unary_stream("/bare/Fetch"), bare.stream_unary("/bare/Deliver")
    payload = bytes(mib * MIB)
    client = AggregatorClient(silo_config(kits, "silo-0"), b"benchmark")
    requests = client.requests(RUN)

    def bare_upload() -> None:
        deliver(payload[start : start + CHUNK_BYTES] for start in range(0, len(payload), CHUNK_BYTES))

    turns = {
        "bare_download_mib_s": lambda: b"".join(fetch(b"")),
        "download_mib_s": lambda: next(requests),
        "bare_upload_mib_s": bare_upload,
        "upload_mib_s": lambda: client.deliver(payload),
    }
    seconds: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(repeats + 1):
        for name, turn in turns.items():
            began = time.perf_counter()
            turn()
            seconds[name].append(time.perf_counter() - began)
    requests.close()
    client.close()
    bare.close()
    here.send("enough")
    process.join()
    rates = {name: mib / median(took[1:]) for name, took in seconds.items()}  # the first turn warms up
    return {
        **rates,
        "upload_ratio": rates["upload_mib_s"] / rates["bare_upload_mib_s"],
        "download_ratio": rates["download_mib_s"] / rates["bare_download_mib_s"],
    }


def serve(kits: Path) -> None:
    """Serve the aggregator, in another process."""
    run_aggregator(kits / "aggregator" / "aggregator.yaml")


@contextmanager
def deployed(
    kits: Path, names: list[str]
) -> Iterator[tuple[multiprocessing.process.BaseProcess, list[threading.Thread]]]:
    """The aggregator as a process, each silo in a thread; all have ended when this does."""
    process = CONTEXT.Process(target=serve, args=(kits,), daemon=True)
    process.start()
    silos = [DeployedSilo(silo_config(kits, n), randomness=SecureRandomness(), publish=unheard) for n in names]
    threads = [threading.Thread(target=silo.serve, daemon=True) for silo in silos]
    for thread in threads:
        thread.start()
    yield process, threads
    for thread in threads:
        thread.join()
    process.join()
    if process.exitcode:
        raise SystemExit("the aggregator ended badly")


def resident_mib(process: Process) -> float:
    """Resident memory of a running process, in MiB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def memory(folder: Path, *, rounds: int) -> Result:
    """Memory of the aggregator, early and late in a run."""
    schedule = {"kind": "fedavg", "rounds": rounds, "local_epochs": 0.5, "batch": 24}
    kits = make_kits(folder, silos=3, schedule=schedule)
    early = late = 0.0
    with deployed(kits, [f"silo-{number}" for number in range(3)]) as (process, threads):
        models = kits / "aggregator" / "state" / "models"
        while any(thread.is_alive() for thread in threads):
            threads[0].join(0.05)
            if not early and (models / f"round_{rounds // 10}.safetensors").exists():
                early = resident_mib(process)
            if (models / f"round_{rounds - 1}.safetensors").exists() and not late:
                late = resident_mib(process)
    return {"memory_rounds": rounds, "memory_early_mib": early, "memory_mib": late}


def many_silos(folder: Path, *, silos: int) -> Result:
    """Time a job of many silos."""
    schedule = {"kind": "two_phase", "batch": 24, "local_steps": 10, "tuning_rounds": 1, "tuning_steps": 2}
    kits = make_kits(folder, silos=silos, schedule=schedule)
    began = time.perf_counter()
    with deployed(kits, [f"silo-{number}" for number in range(silos)]):
        pass
    return {"silos": silos, "silos_s": time.perf_counter() - began}


def main() -> None:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    for name, default in (("mib", 128), ("repeats", 5), ("rounds", 200), ("silos", 50)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / part for part in ("throughput", "memory", "many_silos")]
        for folder in folders:
            folder.mkdir()
        tiny = {"kind": "fedavg", "rounds": 1, "batch": 24}
        result = {
            **throughput(make_kits(folders[0], silos=2, schedule=tiny), mib=options.mib, repeats=options.repeats),
            **memory(folders[1], rounds=options.rounds),
            **many_silos(folders[2], silos=options.silos),
        }
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        for name, value in result.items():
            print(f"{name:24} {value:12.3f}")


if __name__ == "__main__":
    main()
