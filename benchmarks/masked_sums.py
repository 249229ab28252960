"""Cost of SecAgg and SecAgg+: masks against a bare key stream, a silo's work against its masks, and growth with silos.

  python benchmarks/masked_sums.py [--json] [--params N] [--silos N] [--precision-bits B] [--repeats N]
                                   [--ring-params N] [--ring-silos N ...]

Seconds are medians, on one thread, everything in one process and in turns, so that a busy machine slows all alike:

  keystream_s          a bare AES-256-CTR key stream into a buffer that is there, of as many bytes as one mask
  mask_s               one mask: the same stream, added to the vector
  masks_s_n<silos>     as many masks as a silo of the complete graph adds, its own included, keys at hand
  silo_s_n<silos>      a silo's whole work in a real session, everyone present: rounding, keys, signatures, sealed
                       shares, masks, packing, in all rounds
  expansion_measured   bytes of one silo, both ways, in a real session over entries of 16 bits, against sending those
  expansion_formula    the same by the formula of the paper, which counts no signatures, seals and framing
  mask_ratio           mask_s / keystream_s;  silo_ratio  silo_s_n<silos> / masks_s_n<silos>
  modulus_bits         b of the ring Z_{2^b} that the first four are measured in
  degree_n<silos>      neighbours of a silo under SecAgg+ with its standard parameters, by its formula

`ring` has one row for each number of silos under SecAgg+ with its standard parameters: the degree, the mean work of a
silo, the same by ln n, the whole session, and the peak memory so far of the process that
holds all of them. The sum of every session is compared with the sum of the vectors.
"""

import argparse
import json
import math
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from threadpoolctl import threadpool_limits

from siloseal.experiments.drawn_vectors import DrawnVectors
from siloseal.experiments.secagg_traffic import expansion
from siloseal.federation.errors import DomainError
from siloseal.federation.sums.in_process import InProcess
from siloseal.federation.sums.masked.words import WordRing
from siloseal.federation.sums.secagg.config import SecAggConfig, SecAggPlusConfig
from siloseal.federation.sums.secagg.secagg_sum import RandomRing
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import RealDomain

DEGREES = (100, 300, 1000, 10_000, 100_000)
"""Numbers of silos for which the formula is shown."""
ENTRY_BITS = 16
"""Width of the entries whose expansion the paper gives."""


@dataclass(frozen=True)
class SessionCost:
    """What one real session took."""

    silo_s: list[float]
    """Seconds of each silo, all its steps together."""
    silo_bytes: list[int]
    """Bytes of each silo, both ways."""
    session_s: float


def run_session(scheme: SecureSum, silos: int, params: int, between: Callable[[], None] = lambda: None) -> SessionCost:
    """Run every silo and the aggregator, to the sum. `between` is called after each silo's upload is made."""

    def pause(number: int, silo: str, reply: bytes) -> bytes:
        if len(reply) > params:
            between()
        return reply

    vectors = DrawnVectors(
        [f"silo-{number:04d}" for number in range(silos)],
        lambda number: np.random.default_rng(number).uniform(-1, 1, params),
    )
    began = time.perf_counter()
    parties = InProcess(scheme, vectors, domain=RealDomain(params, 1.0), clock=time.perf_counter)
    total = parties.finish(from_silo=pause)
    session_s = time.perf_counter() - began
    exact = np.zeros(params)
    for vector in vectors.values():
        exact += vector
    assert np.abs(total.total - exact).max() <= total.error_bound, "the sum is wrong by more than was promised"
    counted = [total.sent[silo] + total.received[silo] for silo in vectors]
    return SessionCost(list(total.seconds.values()), counted, session_s)


def time_of(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def masks_of_the_complete_graph(params: int, silos: int, precision_bits: int, repeats: int) -> dict[str, float]:
    """Measure one mask against its key stream, and a silo's work against its masks."""
    scheme = SecAggConfig(kind="secagg", precision_bits=precision_bits).build()
    ring = WordRing(params, (silos * (2 ** (precision_bits + 1) - 1)).bit_length())
    words, key = ring.zeros(), bytes(range(32))
    zeros, buffer = bytes(words.nbytes), bytearray(words.nbytes + 15)

    def key_stream() -> None:
        Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update_into(zeros, buffer)

    def mask() -> None:
        ring.add_mask(words, key, 1)

    pairs = [(time_of(key_stream), time_of(mask)) for _ in range(max(9, 10 * repeats))]
    masks = list[float]()
    uploads = 0

    def some_masks() -> None:
        nonlocal uploads
        uploads += 1
        if uploads % max(1, silos // 10) == 0:
            masks.append(time_of(lambda: [mask() for _ in range(silos)]))

    silo_s = [second for _ in range(repeats) for second in run_session(scheme, silos, params, some_masks).silo_s]
    result: dict[str, float] = {"modulus_bits": ring.bits, "keystream_s": median(pair[0] for pair in pairs)}
    result |= {"mask_s": median(pair[1] for pair in pairs)}
    result |= {f"masks_s_n{silos}": median(masks), f"silo_s_n{silos}": median(silo_s)}
    result |= {"mask_ratio": result["mask_s"] / result["keystream_s"]}
    return {**result, "silo_ratio": result[f"silo_s_n{silos}"] / result[f"masks_s_n{silos}"]}


def expansions(params: int, silos: int) -> dict[str, float]:
    """The largest expansion of any silo, against the formula."""
    scheme = SecAggConfig(kind="secagg", precision_bits=ENTRY_BITS - 1).build()
    counted = max(run_session(scheme, silos, params).silo_bytes)
    formula = expansion(silos=silos, entries=params, entry_bits=ENTRY_BITS)
    return {"expansion_measured": 8 * counted / (params * ENTRY_BITS), "expansion_formula": formula}


def on_a_ring(params: int, silos: int, precision_bits: int) -> dict[str, float]:
    """Measure one session of SecAgg+."""
    scheme = SecAggPlusConfig(kind="secagg_plus", precision_bits=precision_bits).build()
    done = run_session(scheme, silos, params)
    mean = sum(done.silo_s) / silos
    return {
        "silos": silos,
        "degree": RandomRing().shape(silos).degree,
        "silo_s": mean,
        "silo_s_by_ln_n": mean / math.log(silos),
        "silo_mb": sum(done.silo_bytes) / silos / 1e6,
        "session_s": done.session_s,
        "peak_memory_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def measure(options: argparse.Namespace) -> dict[str, object]:
    """Measure everything that was asked for."""
    params, silos, precision = options.params, options.silos, options.precision_bits
    result: dict[str, object] = {"params": params, "silos": silos, "precision_bits": precision}
    result |= masks_of_the_complete_graph(params, silos, precision, options.repeats)
    result |= expansions(params, silos)
    result |= {f"degree_n{silos}": RandomRing().shape(silos).degree for silos in DEGREES}
    rows = [on_a_ring(options.ring_params, number, precision) for number in options.ring_silos]
    return {**result, "ring_params": options.ring_params, "ring": rows}


def show(result: dict[str, object]) -> None:
    """Print the results as lines that a person reads."""
    for name, value in result.items():
        if name != "ring":
            print(f"{name:22} {value:.6g}" if isinstance(value, float) else f"{name:22} {value}")
    rows = result["ring"]
    assert isinstance(rows, list)
    for row in rows:
        print("ring  " + "  ".join(f"{name} {value:.4g}" for name, value in row.items()))


def main() -> None:
    """Run what the module's text describes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--params", type=int, default=1_000_000)
    parser.add_argument("--silos", type=int, default=100)
    parser.add_argument("--precision-bits", type=int, default=28)
    parser.add_argument("--repeats", type=int, default=1, help="sessions that silos are timed in")
    parser.add_argument("--ring-params", type=int, default=100_000)
    parser.add_argument("--ring-silos", type=int, nargs="*", default=[100, 300, 1000])
    options = parser.parse_args()
    enough = min(options.params, options.ring_params) >= 1000 and options.repeats >= 1
    precise = 8 <= options.precision_bits <= 40
    if not (enough and precise and options.silos >= 2 and min(options.ring_silos, default=100) >= 100):
        sys.exit(
            "masked_sums.py: give at least 1,000 params (ring-params, too), 2 silos, 100 silos on a ring and 1 repeat, "
            "and 8 to 40 precision bits"
        )
    try:
        with threadpool_limits(limits=1):
            result = measure(options)
    except DomainError as error:
        sys.exit(f"masked_sums.py: {error}")
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        show(result)


if __name__ == "__main__":
    main()
