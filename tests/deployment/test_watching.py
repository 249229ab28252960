"""Whoever watches a run, and stops watching: nobody else notices."""

import json
import subprocess
import sys
from collections.abc import Callable

import grpc
import pytest
from grpc_health.v1 import health_pb2

from .client import Caller, Pair, broken
from .conftest import ONE_STEP, Consortium

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


def test_health_can_be_watched_to_the_end_of_a_run_with_a_certificate_by_many_at_a_time(
    consortium_of: Callable[..., Consortium],
) -> None:
    consortium = consortium_of(schedule=ONE_STEP)
    consortium.aggregator.start().wait_for("serves")
    with Caller(consortium, Pair()) as stranger:
        assert broken(lambda: next(stranger.watch())) is grpc.StatusCode.UNAVAILABLE
    with Caller(consortium, Pair.of(consortium.kits / "operator")) as operator:
        watches = [operator.watch() for _ in range(30)]  # more than the aggregator has threads
        assert [next(watch).status for watch in watches] == [SERVING] * len(watches)
        for silo in consortium.silos.values():
            silo.start()
        assert [next(watch).status for watch in watches] == [NOT_SERVING] * len(watches)
    consortium.finish()


@pytest.mark.slow
def test_parties_whose_output_nobody_reads_any_more_go_on(consortium_of: Callable[..., Consortium]) -> None:
    consortium = consortium_of(schedule=ONE_STEP)
    commands = {"aggregator": consortium.aggregator, "silo": consortium.silos["north"]}
    unheard = []
    for role, party in commands.items():
        command = [sys.executable, "-m", "siloseal", role, "--config", str(party.config), "--json"]
        with (consortium.folder / f"{role}.txt").open("w") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["event"] in ("serves", "takes_part")
        process.stdout.close()
        unheard.append(process)
    for name in ("east", "south"):
        consortium.silos[name].start()
    assert [process.wait(120) for process in unheard] == [0, 0]
    assert [consortium.silos[name].wait() for name in ("east", "south")] == [0, 0]
    assert all("Traceback" not in (consortium.folder / f"{role}.txt").read_text() for role in commands)
