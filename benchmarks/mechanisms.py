"""What noise shared among silos costs against the noise of one trusted party, and what drawing it costs.

  python benchmarks/mechanisms.py [--json] [--bits B ...] [--repetitions N] [--entries N] [--epsilons E ...]

100 silos, all honest, sum vectors of 1024 entries clipped to norm 1, once, at epsilon 3 and delta 1e-5. Measured:

  mse_ratio           for each mechanism and width: the mean squared error of an entry of a sum, against the square of
                      gaussian_deviation. Each repetition encodes the vectors of 100 silos, adds them modulo 2^bits,
                      decodes the sum and subtracts the true one; vectors and rotation are drawn anew
  mse_standard_error  of the ratio, as a part of it, from the spread of the repetitions
  mse_ratio_alike     the same where all silos send one vector, and the sum is as long as it can be: here some entries
                      wrap around the modulus. Three times as many repetitions, as few entries carry much of the error
  encode_s            one vector of --entries entries through Skellam noise of 16 bits, from clipping to the modulus,
                      from the operating system's randomness; its table is there. numpy_gaussian_s: as many values of
                      numpy's generator. Medians of turns that alternate, on one thread. encode_ratio: the one by the
                      other

  upload_entries      how many entries travel for vectors of some lengths: padded to the next power of two, as was done
                      before, and now. pbm_kashin: those of the paper's frame. bits: of an entry, by mechanism, for the
                      widths that are measured

gaussian_deviation is that of the continuous Gaussian of a trusted aggregator, by Renyi accounting as for noise on a
grid. The two continuous mechanisms have no modulus, and pbm_kashin needs fewer bits than it is given: one figure stands
under all widths. pbm_kashin is the paper's Poisson-binomial mechanism, and pbm the one that is counted by the L2 norm.

`computed` is by formula, not measured: every mechanism at widths of 10 to 18 bits and several epsilons, for vectors and
for scalars, as ratios of the mean squared error; null or a dash where a mechanism cannot meet epsilon in so few bits.
"""

import argparse
import json
import math
import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from siloseal.experiments.kinds_of_noise import CLIP_NORM, Kind, calibrated
from siloseal.experiments.noise_by_formula import DELTA, MECHANISMS, SILOS, Row, computed_rows, demand_of, reference
from siloseal.federation.privacy.mechanism import Mechanism
from siloseal.federation.privacy.mechanisms.calibration import renyi_gaussian_multiplier
from siloseal.federation.privacy.mechanisms.lattice_calibration import calibrated_lattice
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.new_session import new_session
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.session import IntegerDomain, RealDomain

Figures = dict[str, dict[str, float | None]]  # by mechanism and bits

EPSILON, LENGTH = 3.0, 1024
SHARED = ("ddg", "skellam")
"""Mechanisms that are also measured with vectors that are all alike, and have targets there."""
DISCRETE = ("ddg", "skellam", "pbm", "binomial", "pbm_kashin")
TABLE_EPSILONS = (1.0, 2.0, 3.0, 5.0, 10.0)
TARGETS = {16: 1.02, 12: 1.10}
"""The largest ratio of ddg and skellam at these widths."""
PBM_TARGETS = {10: 1.15, 12: 1.05}
"""The largest ratio of pbm at these widths, by noise and by what is cut off together."""
UPLOAD_LENGTHS = (1000, 1024, 1970, 40_010, 101_770, 1_000_000)
ENCODE_BITS, ENCODE_TARGET, ENCODE_TURNS = 16, 10.0, 15
ALIKE_REPETITIONS = 3  # for each repetition with vectors of all directions
SLICE = 20  # repetitions that one task of a worker does


def squared_errors(mechanism: Mechanism, alike: bool, repetitions: int) -> list[float]:
    """The mean squared error of an entry, in each repetition."""
    with threadpool_limits(limits=1):
        return [_squared_error(mechanism, _drawn(alike)) for _ in range(repetitions)]


def _drawn(alike: bool) -> NDArray[np.float64]:
    """The silos' vectors (silos, entries) of norm 1."""
    vectors = np.random.default_rng().standard_normal((1 if alike else SILOS, LENGTH))
    vectors *= CLIP_NORM / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.broadcast_to(vectors, (SILOS, LENGTH))


def _squared_error(mechanism: Mechanism, vectors: NDArray[np.float64]) -> float:
    """The mean squared error of one sum in a session of its own, which settles the rotation."""
    found = sum_in_process(NoisySum(mechanism, PlainSum()), vectors, domain=RealDomain(LENGTH, CLIP_NORM))
    return float(np.mean((found.total - vectors.sum(axis=0)) ** 2))


Pool = ProcessPoolExecutor
Wanted = Sequence[tuple[Kind, int, Mechanism | None]]  # names, bits, and what was calibrated for them


def measured(pool: Pool, wanted: Wanted, alike: bool, repetitions: int) -> tuple[Figures, Figures]:
    """Ratios and their relative standard errors. A mechanism that bits do not change is measured once."""
    tasks = [(mechanism, count) for mechanism in {m for _, _, m in wanted if m} for count in _slices(repetitions)]
    errors: dict[Mechanism, list[float]] = {mechanism: [] for mechanism, _ in tasks}
    futures = [(mechanism, pool.submit(squared_errors, mechanism, alike, count)) for mechanism, count in tasks]
    for mechanism, future in futures:
        errors[mechanism] += future.result()
    demand = demand_of(EPSILON, LENGTH)
    ratios: Figures = {name: {} for name, _, _ in wanted}
    spreads: Figures = {name: {} for name, _, _ in wanted}
    for name, bits, chosen in wanted:
        ratios[name][str(bits)] = spreads[name][str(bits)] = None
        if chosen is not None:
            found = np.array(errors[chosen])
            ratios[name][str(bits)] = float(found.mean()) / reference(name, demand)
            spreads[name][str(bits)] = float(found.std(ddof=1) / found.mean() / math.sqrt(found.size))
    return ratios, spreads


def _slices(repetitions: int) -> list[int]:
    whole, rest = divmod(repetitions, SLICE)
    return [SLICE] * whole + [rest] * (rest > 0)


def encoding(entries: int) -> dict[str, float]:
    """Seconds of one silo's encoding, and of numpy's normal values."""
    mechanism = calibrated_lattice("skellam", demand_of(EPSILON, entries), bits=ENCODE_BITS, sensitivity=CLIP_NORM)
    scheme, me = NoisySum(mechanism, PlainSum()), Identity.create("silo-1")
    session = new_session(scheme, {me.name: me}, RealDomain(entries, CLIP_NORM))
    vector = np.random.default_rng().standard_normal(entries)
    vector *= CLIP_NORM / float(np.linalg.norm(vector))

    def encode() -> None:
        mechanism.encode(vector, session, SecureRandomness())

    def numpy_gaussian() -> None:
        np.random.default_rng().standard_normal(entries)

    encode()  # makes the table
    turns = [(_time_of(encode), _time_of(numpy_gaussian)) for _ in range(ENCODE_TURNS)]
    ours, numpys = median(turn[0] for turn in turns), median(turn[1] for turn in turns)
    return {"encode_s": ours, "numpy_gaussian_s": numpys, "encode_ratio": ours / numpys}


def upload_entries(wanted: Wanted) -> dict[str, dict[str, int]]:
    """Number of integers that a silo sends for a vector, by its length and the mechanism that sends them."""
    chosen = {name: mechanism for name, _, mechanism in wanted if name in DISCRETE and mechanism is not None}
    return {
        str(length): {
            "padded": 1 << (length - 1).bit_length(),
            **{name: _integers(mechanism, length).length for name, mechanism in chosen.items()},
        }
        for length in UPLOAD_LENGTHS
    }


def upload_bits(mechanism: Mechanism) -> int:
    """Bits of an integer that a silo sends."""
    return (_integers(mechanism, LENGTH).modulus - 1).bit_length()


def _integers(mechanism: Mechanism, length: int) -> IntegerDomain:
    domain = mechanism.domain(RealDomain(length, CLIP_NORM), SILOS)
    assert isinstance(domain, IntegerDomain)
    return domain


def _time_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure everything that was asked for. Seconds come first, while nothing else runs."""
    with threadpool_limits(limits=1):
        seconds = encoding(options.entries)
    demand = demand_of(EPSILON, LENGTH)
    wanted = [(name, bits, calibrated(name, demand, bits=bits)) for name in MECHANISMS for bits in options.bits]
    shared = [row for row in wanted if row[0] in SHARED]
    many = ALIKE_REPETITIONS * options.repetitions
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        table = [pool.submit(computed_rows, length, epsilon) for length in (LENGTH, 1) for epsilon in options.epsilons]
        ratios, spreads = measured(pool, wanted, False, options.repetitions)
        alike, alike_spreads = measured(pool, shared, True, many)
        rows = [row for future in table for row in future.result()]
    return {
        "epsilon": EPSILON,
        "delta": DELTA,
        "silos": SILOS,
        "entries": LENGTH,
        "repetitions": options.repetitions,
        "gaussian_deviation": CLIP_NORM * renyi_gaussian_multiplier(demand),
        "mse_ratio": ratios,
        "mse_standard_error": spreads,
        "mse_ratio_add_remove": {
            "pbm_kashin": {bits: ratio and 4 * ratio for bits, ratio in ratios["pbm_kashin"].items()}
        },
        "mse_ratio_alike": alike,
        "mse_standard_error_alike": alike_spreads,
        "upload_entries": upload_entries(wanted),
        "bits": {
            name: {str(bits): upload_bits(chosen) for kind, bits, chosen in wanted if kind == name and chosen}
            for name in DISCRETE
        },
        "encode_entries": options.entries,
        **seconds,
        "computed": rows,
    }


def show(result: dict[str, Any]) -> None:
    """Print the results as tables that a person reads."""
    _show_measured(result)
    print()
    for line in targets(result):
        print(line)
    for length, title in ((LENGTH, f"vectors of {LENGTH} entries"), (1, "scalars")):
        print(f"\nCOMPUTED by formula, not measured: ratios of the mean squared error for {title}")
        _show_computed([row for row in result["computed"] if row["entries"] == length])
    print(
        f"\npbm and pbm_kashin take ceil(log2({SILOS} m + 1)) bits an entry for m coins of each silo. Under\n"
        f"pbm_kashin a vector of {LENGTH} entries is at the floor of one coin and {SILOS.bit_length()} bits at every\n"
        "epsilon; for scalars they fall with it. Where bits are fewer than all of epsilon would use, it spends less\n"
        "and errs more."
    )


def _show_measured(result: dict[str, Any]) -> None:
    print(
        f"Measured: epsilon {EPSILON:g}, delta {DELTA:g}, {SILOS} silos, {LENGTH} entries, {result['repetitions']} "
        f"repetitions; the continuous Gaussian's deviation is {result['gaussian_deviation']:.6f}"
    )
    shown = (
        ("mse_ratio", "mse_standard_error", "against the Gaussian"),
        ("mse_ratio_add_remove", "mse_standard_error", "against the Gaussian of sensitivity c, which promises less"),
        ("mse_ratio_alike", "mse_standard_error_alike", "all silos send one vector, so that some entries wrap"),
    )
    for key, spread, meaning in shown:
        print(f"{key}: {meaning}")
        for name, widths in result[key].items():
            cells = (f"{bits} bits {_cell(ratio, result[spread][name][bits])}" for bits, ratio in widths.items())
            print(f"  {name:17}" + "   ".join(cells))
    for key in ("encode_s", "numpy_gaussian_s", "encode_ratio"):
        print(f"{key:18} {result[key]:.4g}")
    print("upload_entries, by length")
    for length, entries in result["upload_entries"].items():
        print(f"  {length:>9}  " + "   ".join(f"{name} {count}" for name, count in entries.items()))


def _cell(ratio: float | None, spread: float | None) -> str:
    return f"{'-':>19}" if ratio is None or spread is None else f"{ratio:9.4f} +- {100 * spread:.2f} %"


def targets(result: dict[str, Any]) -> list[str]:
    """The targets, and whether they were met."""
    aims = [
        (f"{key}.{name}.{bits}", result[key][name].get(str(bits)), most)
        for key in ("mse_ratio", "mse_ratio_alike")
        for name in SHARED
        for bits, most in TARGETS.items()
    ]
    aims += [(f"mse_ratio.pbm.{bits}", result["mse_ratio"]["pbm"].get(str(bits)), m) for bits, m in PBM_TARGETS.items()]
    aims.append(("encode_ratio", result["encode_ratio"], ENCODE_TARGET))
    return [
        f"{'pass' if found <= most else 'FAIL'}  {name} {found:.4f}, at most {most:g}"
        for name, found, most in aims
        if found is not None
    ]


def _show_computed(rows: list[Row]) -> None:
    columns = ("epsilon", "bits", *MECHANISMS, "pbm_kashin_add_remove", "pbm_bits", "pbm_kashin_bits")
    print("  " + "  ".join(f"{column:>8}" for column in columns))
    for row in rows:
        cells = ("-" if row[column] is None else f"{row[column]:.5g}" for column in columns)
        print("  " + "  ".join(f"{cell:>{max(8, len(column))}}" for cell, column in zip(cells, columns, strict=True)))


def main() -> None:
    """Run what the module's text describes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--bits", type=int, nargs="+", default=[10, 12, 16], help="widths that are measured")
    parser.add_argument("--repetitions", type=int, default=260)
    parser.add_argument("--entries", type=int, default=1_000_000, help="entries of the vector whose encoding is timed")
    parser.add_argument(
        "--epsilons", type=float, nargs="*", default=TABLE_EPSILONS, help="epsilons of the computed table"
    )
    options = parser.parse_args()
    fits = all(7 <= bits <= 20 for bits in options.bits) and all(0.1 <= epsilon <= 10 for epsilon in options.epsilons)
    if not (fits and options.repetitions >= 2 and options.entries >= 1000):
        sys.exit(
            "mechanisms.py: give 7 to 20 bits, at least 2 repetitions, at least 1,000 entries and epsilons of 0.1 to 10"
        )
    result = measure(options)
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        show(result)


if __name__ == "__main__":
    main()
