"""Cost of a secure sum under shared CKKS keys, against stock TenSEAL on the same vectors in the same run.

  python benchmarks/ckks.py [--json] [--params N] [--silos N] [--precision-bits B] [--repeats N] [--scaling] [--memory]

Stock is `ts.ckks_vector` under one context with one secret key: degree 8192, primes of 60, 40 and 40 bits, scale 2^40,
pieces of 4096 entries. Both take turns on one silo's vector after the other, on one thread. Seconds are medians:

  encrypt_s         one silo's vector: rounding to the grid, encryption, and turning the ciphertext into bytes
  stock_encrypt_s   the same vector, given as lists of floats; without the bytes, which are stock_serialize_s
  open_s            partial_decrypt_s (one silo's part and its bytes) + fuse_s (adding one such part, decoding the sum)
  stock_decrypt_s   the sum of all silos' ciphertexts, the whole vector of it

In these, one share is the whole key: it has the sizes and takes the steps of one silo's. All else is the real protocol,
every silo present, in one process. silo_<round>_round_s is one silo's answer: in `open` it checks all silos' hashes,
re-adds their halves and opens. aggregator_<round>_round_s deals with all answers: in `upload` it checks and adds them,
in `open` it adds the openings and decodes the sum. silo_s is silo_setup_s (deriving the sizes, rounding the vector) and
all rounds; whole_protocol_s is everyone's, one after the other. bytes_per_param is one silo's upload as sent, stock's
its ciphertexts serialised; sent_ and received_ are all rounds of one silo. Errors are the largest of all entries.
--scaling adds other sizes, without stock. --memory adds the peak of an aggregator of 10,000,000 parameters, imports
and a round's replies included, and its 8 silos in another process.
"""

import argparse
import json
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from statistics import median

import numpy as np
import tenseal as ts
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from federation.ckks.ckks_sum import CkksSum
from federation.ckks.encryption import decode_sum, encrypt, largest_value, to_total, to_values
from federation.ckks.keys import SecretShare
from federation.ckks.ring import ring_of
from federation.ckks.sampling import expand_uniform
from federation.ckks.wire import add_bytes, from_bytes, to_bytes
from federation.identity import Identity
from federation.randomness import SecureRandomness
from federation.secure_sum import SiloSide, Sum
from federation.session import RealDomain, Session, Vector

Result = dict[str, float]
Seconds = defaultdict[str, list[float]]  # of everything that was timed, by name
ROUNDS = ("commit_key", "reveal_key", "commit_ciphertext", "upload", "open")
SLOTS = 4096
SCALING = ((100_000, 10), (1_000_000, 10), (10_000_000, 10), (1_000_000, 3), (1_000_000, 30))
MEMORY = (10_000_000, 8)


class Setting:
    """The sizes of one sum, what its silos contribute, and what must come out."""

    def __init__(self, params: int, silos: int, precision_bits: int) -> None:
        self.params, self.silos, self.precision_bits = params, silos, precision_bits
        self.scheme, self.domain = CkksSum(precision_bits=precision_bits), RealDomain(length=params, bound=1.0)
        self.sizes = self.scheme.parameters(self.domain, silos)

    def vector(self, silo: int) -> NDArray[np.float64]:
        """What this silo contributes; drawn anew each time, so that never all of them are in memory."""
        return np.random.default_rng(silo).uniform(-1, 1, self.params)

    def error_of(self, total: Vector, bound: float = float("inf")) -> float:
        """The largest, against the sum in double precision, which is itself wrong by less than 1e-13."""
        exact = np.zeros(self.params)
        for silo in range(self.silos):
            exact += self.vector(silo)
        error = float(np.abs(total - exact).max())
        assert error <= bound, f"the sum is wrong by {error:g}, at most {bound:g} was promised"
        return error

    def silo_sides(self, seconds: Seconds) -> tuple[Session, dict[str, SiloSide]]:
        """A session that needs every silo, and their sides."""
        identities = [Identity.create(f"silo{number:04d}") for number in range(self.silos)]
        roster, keys = tuple(me.name for me in identities), tuple(me.public for me in identities)
        session = Session(bytes(32), roster, self.domain, self.scheme.name, self.silos, keys)
        sides = dict[str, SiloSide]()
        for number, me in enumerate(identities):
            vector = self.vector(number)
            with timed(seconds, "silo_setup"):
                sides[me.name] = self.scheme.silo(session, me, vector, SecureRandomness())
        return session, sides


@contextmanager
def timed(seconds: Seconds, name: str) -> Iterator[None]:
    """Note how long it takes to do what stands inside."""
    start = time.perf_counter()
    yield
    seconds[name].append(time.perf_counter() - start)


def time_steps(setting: Setting, vector: NDArray[np.float64], seconds: Seconds) -> None:
    """Encrypt one vector under one share, open it and decode it: each step without the messages around it."""
    sizes, domain, precision, randomness = setting.sizes, setting.domain, setting.precision_bits, SecureRandomness()
    ring, share = ring_of(sizes.degree), SecretShare.draw(randomness)
    common = expand_uniform(ring, bytes(32))
    key = share.public_share(sizes, common, randomness)
    with timed(seconds, "encrypt"):
        upload = encrypt(sizes, key, common, to_values(domain, vector, precision), randomness)
    c0, c1 = from_bytes(ring, upload.c0, divided=True), from_bytes(ring, upload.c1)
    with timed(seconds, "partial_decrypt"):
        opened = to_bytes(share.partial_decrypt(sizes, c1, randomness))
    with timed(seconds, "fuse"):
        add_bytes(ring, c0, opened, divided=True)
        total, bound = to_total(domain, decode_sum(sizes, c0, largest_value(domain, precision)), 1, precision)
    assert np.abs(total - vector).max() <= bound


def time_steps_and_stock(setting: Setting, seconds: Seconds) -> Result:
    """The steps on every silo's vector, in turn with stock's, whose ciphertexts are added up and decrypted once."""
    context = ts.context(ts.SCHEME_TYPE.CKKS, poly_modulus_degree=2 * SLOTS, coeff_mod_bit_sizes=[60, 40, 40])
    context.global_scale = 2**40
    total = list[ts.CKKSVector]()
    for silo in range(setting.silos):
        vector = setting.vector(silo)
        time_steps(setting, vector, seconds)
        pieces = [vector[start : start + SLOTS].tolist() for start in range(0, setting.params, SLOTS)]
        with timed(seconds, "stock_encrypt"):
            ciphertexts = [ts.ckks_vector(context, piece) for piece in pieces]
        with timed(seconds, "stock_serialize"):
            size = sum(len(ciphertext.serialize()) for ciphertext in ciphertexts)
        total = [one + other for one, other in zip(total, ciphertexts, strict=True)] if total else ciphertexts
    with timed(seconds, "stock_decrypt"):
        opened = [ciphertext.decrypt() for ciphertext in total]
    return {"stock_bytes_per_param": size / setting.params, "stock_max_error": setting.error_of(np.concatenate(opened))}


def drive(setting: Setting, session: Session, answer: Callable[[str, bytes], bytes], seconds: Seconds) -> Sum:
    """One sum by its messages, wherever the silos are that answer them."""
    aggregator, rounds = setting.scheme.aggregator(session), iter(ROUNDS)
    step: Mapping[str, bytes] | Sum = aggregator.open()
    while not isinstance(step, Sum):
        replies, name = dict[str, bytes](), next(rounds)
        for silo, message in step.items():
            with timed(seconds, f"silo_{name}_round"):
                replies[silo] = answer(silo, message)
        with timed(seconds, f"aggregator_{name}_round"):
            step = aggregator.advance(replies)
    return step


def time_protocol(setting: Setting, seconds: Seconds) -> Result:
    """Both sides of one sum in this process, and the bytes of one silo."""
    session, sides = setting.silo_sides(seconds)
    sent, received = list[int](), list[int]()  # by round, then by silo

    def answer(silo: str, message: bytes) -> bytes:
        reply = sides[silo].answer(message)
        sent.append(len(reply))
        received.append(len(message))
        return reply

    found = drive(setting, session, answer, seconds)
    upload, first = ROUNDS.index("upload") * setting.silos, slice(None, None, setting.silos)
    sizes = {"bytes": sent[upload], "sent_bytes": sum(sent[first]), "received_bytes": sum(received[first])}
    result = {f"{name}_per_param": size / setting.params for name, size in sizes.items()}
    return result | {"max_error": setting.error_of(found.total, found.error_bound), "error_bound": found.error_bound}


def medians(setting: Setting, seconds: Seconds) -> Result:
    """Of everything that was timed, and what adds up from it."""
    found = {f"{name}_s": median(times) for name, times in seconds.items()}
    found["open_s"] = found["partial_decrypt_s"] + found["fuse_s"]
    found["silo_s"] = found["silo_setup_s"] + sum(found[f"silo_{name}_round_s"] for name in ROUNDS)
    found["aggregator_add_per_silo_s"] = found["aggregator_upload_round_s"] / setting.silos
    found["aggregator_s"] = sum(found[f"aggregator_{name}_round_s"] for name in ROUNDS)
    found["whole_protocol_s"] = found["aggregator_s"] + setting.silos * found["silo_s"]
    return {name: round(value, 6) for name, value in found.items()}


def measure(setting: Setting, repeats: int, *, stock: bool) -> Result:
    """One setting, in interleaved repeats: beside stock, or with the steps by themselves on one vector a repeat."""
    seconds, sizes = Seconds(list), setting.sizes
    found: Result = {name: getattr(setting, name) for name in ("params", "silos", "precision_bits")}
    found |= {name: getattr(sizes, name) for name in ("degree", "keys", "statistical_distance_log2")}
    found |= {"modulus_bits": ring_of(sizes.degree).modulus_bits, "values_per_coefficient": sizes.values}
    for repeat in range(repeats):
        if stock:
            found |= time_steps_and_stock(setting, seconds)
        else:
            time_steps(setting, setting.vector(repeat), seconds)
        found |= time_protocol(setting, seconds)
    found |= medians(setting, seconds)
    if stock:
        found |= {f"{step}_ratio": found[f"{step}_s"] / found["stock_encrypt_s"] for step in ("encrypt", "open")}
        found["open_to_stock_decrypt_ratio"] = found["open_s"] / found["stock_decrypt_s"]
    return found


def host_silos(setting: Setting, aggregator: Connection) -> None:
    """The silos' process: it answers until it is asked for nobody."""
    session, sides = setting.silo_sides(Seconds(list))
    aggregator.send(session)
    while silo := aggregator.recv():
        aggregator.send_bytes(sides[silo].answer(aggregator.recv_bytes()))


def aggregator_peak(setting: Setting) -> float:
    """MiB that this process has needed at most, as an aggregator. To be called before it grows by anything else."""
    silos, there = Pipe()
    host = get_context("spawn").Process(target=host_silos, args=(setting, there))
    host.start()
    there.close()  # so that the end of the other process is noticed

    def answer(silo: str, message: bytes) -> bytes:
        silos.send(silo)
        silos.send_bytes(message)
        return silos.recv_bytes()

    found = drive(setting, silos.recv(), answer, Seconds(list))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    silos.send("")
    host.join()
    setting.error_of(found.total, found.error_bound)
    return peak


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
    memory = {"aggregator_peak_mib": aggregator_peak(Setting(*MEMORY, bits))} if options.memory else {}
    with threadpool_limits(1):
        result = measure(Setting(options.params, options.silos, bits), options.repeats, stock=True) | memory
        sizes = SCALING if options.scaling else ()
        rows = [measure(Setting(*size, bits), options.repeats, stock=False) for size in sizes]
    if options.json:
        print(json.dumps(result | ({"scaling": rows} if rows else {}), indent=1))
    else:
        for key in result:
            print(f"  {key:36s}" + "".join(f"{row[key]:14,.8g}" for row in (result, *rows) if key in row))


if __name__ == "__main__":
    main()
