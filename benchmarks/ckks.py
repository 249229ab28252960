"""Cost of an encrypted sum, against stock TenSEAL and against SecAgg on the same vectors in the same run.

  python benchmarks/ckks.py [--json] [--params N] [--silos N] [--precision-bits B] [--repeats N] [--scaling] [--memory]

Stock is `ts.ckks_vector` under one context with one secret key: degree 8192, primes of 60, 40 and 40 bits, scale 2^40,
pieces of 4096 entries. All take turns on one silo's vector after the other, on one thread. Seconds are medians:

  encrypt_s              one silo's vector: encryption under its key share, and turning the ciphertext into bytes
  stock_encrypt_s        the same vector, given as lists of floats; without the bytes, which are stock_serialize_s
  silo_s                 one silo's whole work: rounding the vector, drawing keys, and its answer in every round
  secagg_silo_s          the same in SecAgg, at the same precision
  aggregator_s_per_silo  the aggregator's whole work, divided by the number of silos: checking, adding, opening
  ring_s                 SEAL's tables, once in a process, not in the others

Everything but encrypt_s and stock is the real protocol, every silo present, in one process.

Bytes are all that one silo sends and receives in a run's messages: requests and replies with the session in every
request, as they go into a connection. max_error is the largest of all entries, floor_bytes_per_param what n values of
these bits take at least when they are added up.

--scaling adds other sizes, without stock. --memory adds the peak of one process that is 30 silos and the aggregator of
10,000,000 parameters, imports included, but for one silo's vector at a time, which it draws when it needs it.
"""

import argparse
import json
import math
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import numpy as np
import tenseal as ts
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from siloseal.experiments.drawn_vectors import DrawnVectors
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.ckks.encryption import KeyShare
from siloseal.federation.sums.fixed_point import FixedPointSum, largest_point
from siloseal.federation.sums.in_process import Hook, InProcess
from siloseal.federation.sums.new_session import new_session
from siloseal.federation.sums.rlwe.values import to_values
from siloseal.federation.sums.secagg.secagg_sum import SecAggSum
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import RealDomain, Vector
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION

Result = dict[str, float]
Seconds = defaultdict[str, list[float]]  # of everything that was timed, by name
SLOTS = 4096
SCALING = ((1_000_000, 10, 28), (100_000, 10, 16), (100_000, 100, 16), (10_000_000, 10, 16), (1_000_000, 30, 16))
MEMORY = (10_000_000, 30, 16)


class Setting:
    """The sizes of one sum, what its silos contribute, and what must come out."""

    def __init__(self, params: int, silos: int, precision_bits: int) -> None:
        self.params, self.silos, self.precision_bits = params, silos, precision_bits
        self.scheme, self.domain = CkksSum(precision_bits=precision_bits), RealDomain(length=params, bound=1.0)
        self.secagg = FixedPointSum(SecAggSum(), precision_bits)
        self.sizes = self.scheme.parameters(self.domain, silos)
        self.identities = {name: Identity.create(name) for name in (f"silo{number:04d}" for number in range(silos))}

    def vector(self, silo: int) -> NDArray[np.float64]:
        """The vector of this silo; drawn anew each time, so that never all of them are in memory."""
        return np.random.default_rng(silo).uniform(-1, 1, self.params)

    def error_of(self, total: Vector, bound: float = math.inf) -> float:
        """The largest error against the sum in double precision, which is itself wrong by less than 1e-13."""
        exact = np.zeros(self.params)
        for silo in range(self.silos):
            exact += self.vector(silo)
        error = float(np.abs(total - exact).max())
        assert error <= bound, f"the sum is wrong by {error:g}, at most {bound:g} was promised"
        return error


@contextmanager
def timed(seconds: Seconds, name: str) -> Iterator[None]:
    """Note how long the block takes."""
    start = time.perf_counter()
    yield
    seconds[name].append(time.perf_counter() - start)


def time_encryption(setting: Setting, silo: int, seconds: Seconds) -> None:
    """Time the encryption of one silo's vector under one key share."""
    randomness, session = SecureRandomness(), new_session(setting.scheme, setting.identities, setting.domain)
    values = to_values(setting.domain, setting.vector(silo), setting.precision_bits)
    with timed(seconds, "encrypt"):
        KeyShare.draw(setting.sizes, randomness).encrypt(session, setting.sizes, values, randomness)


def time_stock(setting: Setting, seconds: Seconds) -> Result:
    """Time the encryption of every silo's vector in turn with ours; the sum of its ciphertexts is decrypted once."""
    context = ts.context(ts.SCHEME_TYPE.CKKS, poly_modulus_degree=2 * SLOTS, coeff_mod_bit_sizes=[60, 40, 40])
    context.global_scale = 2**40
    total = list[ts.CKKSVector]()
    for silo in range(setting.silos):
        time_encryption(setting, silo, seconds)
        vector = setting.vector(silo)
        pieces = [vector[start : start + SLOTS].tolist() for start in range(0, setting.params, SLOTS)]
        with timed(seconds, "stock_encrypt"):
            ciphertexts = [ts.ckks_vector(context, piece) for piece in pieces]
        with timed(seconds, "stock_serialize"):
            size = sum(len(ciphertext.serialize()) for ciphertext in ciphertexts)
        total = [one + other for one, other in zip(total, ciphertexts, strict=True)] if total else ciphertexts
    with timed(seconds, "stock_decrypt"):
        opened = [ciphertext.decrypt() for ciphertext in total]
    return {"stock_bytes_per_param": size / setting.params, "stock_max_error": setting.error_of(np.concatenate(opened))}


def time_protocol(setting: Setting, scheme: SecureSum, name: str, seconds: Seconds) -> Result:
    """Time both sides of one sum in this process: everyone's seconds, and the bytes of one silo."""
    vectors = DrawnVectors(list(setting.identities), setting.vector)
    parties = InProcess(scheme, vectors, domain=setting.domain, identities=setting.identities, clock=time.perf_counter)
    wire, first, sent, received = parties.session.to_wire(), parties.session.roster[0], list[int](), list[int]()

    def count(counted: list[int], size: Callable[[bytes], int]) -> Hook:
        def see(number: int, silo: str, message: bytes) -> bytes:
            if silo == first:
                counted.append(size(message))
            return message

        return see

    total = parties.finish(
        to_silo=count(received, lambda message: request_bytes(wire, message)), from_silo=count(sent, reply_bytes)
    )
    seconds[f"{name}silo"] += total.seconds.values()
    seconds[f"{name}aggregator"].append(total.aggregator_seconds)
    error = setting.error_of(total.total, total.error_bound)
    return {
        f"{name}sent_bytes_per_param": sum(sent) / setting.params,
        f"{name}received_bytes": sum(received),
        f"{name}max_error": error,
        f"{name}error_bound": total.error_bound,
    }


def request_bytes(session: sums_pb2.SumSession, message: bytes) -> int:
    """Size of a request that carries one message of a sum."""
    request = pb.Request(
        number=10,
        job_digest=bytes(32),
        run_id=bytes(32),
        protocol_version=PROTOCOL_VERSION,
        sum=pb.Sum(session=session, message=message),
    )
    return len(request.SerializeToString())


def reply_bytes(message: bytes) -> int:
    """Size of a reply that carries one message of a sum."""
    reply = pb.Reply(
        number=10, silo="silo0000", request_digest=bytes(32), protocol_version=PROTOCOL_VERSION, sum=message
    )
    return len(reply.SerializeToString())


def measure(setting: Setting, repeats: int, *, stock: bool) -> Result:
    """Measure one setting, in interleaved repeats: beside stock and SecAgg, or alone."""
    seconds, sizes = Seconds(list), setting.sizes
    with timed(seconds, "ring"):
        bits = sizes.ring.modulus_bits
    found: Result = {name: getattr(setting, name) for name in ("params", "silos", "precision_bits")}
    found |= {name: getattr(sizes, name) for name in ("degree", "modulus_bits", "values", "key_bits")}
    found |= {"seal_modulus_bits": bits, "upload_bytes_per_param": sizes.ciphertext_bytes / setting.params}
    found["floor_bytes_per_param"] = math.log2(setting.silos * largest_point(setting.precision_bits) + 1) / 8
    for repeat in range(repeats):
        if stock:
            found |= time_stock(setting, seconds)
            found |= time_protocol(setting, setting.secagg, "secagg_", seconds)
        else:
            time_encryption(setting, repeat % setting.silos, seconds)
        found |= time_protocol(setting, setting.scheme, "", seconds)
    found |= {f"{name}_s": round(median(times), 6) for name, times in seconds.items()}
    found["aggregator_s_per_silo"] = found["aggregator_s"] / setting.silos
    if stock:
        found["silo_to_stock_encrypt_ratio"] = found["silo_s"] / found["stock_encrypt_s"]
        found["silo_to_secagg_ratio"] = found["silo_s"] / found["secagg_silo_s"]
    return found


def peak_of_everyone(setting: Setting) -> float:
    """MiB that this process has needed at most, as all silos and the aggregator. To be called before anything else."""
    time_protocol(setting, setting.scheme, "", Seconds(list))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("json", "scaling", "memory"):
        parser.add_argument(f"--{name}", action="store_true")
    for name, default in {"params": 1_000_000, "silos": 10, "precision-bits": 16, "repeats": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    bits = options.precision_bits
    if options.params < 1 or options.silos < 2 or options.repeats < 1 or not 8 <= bits <= 40:
        parser.exit(2, f"{parser.prog}: give at least 1 parameter, 2 silos and 1 repeat, and 8 to 40 bits\n")
    with threadpool_limits(1):
        memory = {"all_parties_peak_mib": peak_of_everyone(Setting(*MEMORY))} if options.memory else {}
        result = measure(Setting(options.params, options.silos, bits), options.repeats, stock=True) | memory
        sizes = SCALING if options.scaling else ()
        rows = [measure(Setting(*size), options.repeats, stock=False) for size in sizes]
    if options.json:
        print(json.dumps(result | ({"scaling": rows} if rows else {}), indent=1))
    else:
        for key in result:
            print(f"  {key:36s}" + "".join(f"{row[key]:14,.8g}" for row in (result, *rows) if key in row))


if __name__ == "__main__":
    main()
