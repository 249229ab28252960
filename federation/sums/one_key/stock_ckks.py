"""CKKS as TenSEAL's own examples use it: `ckks_vector` under one context whose secret key all silos hold.

One ciphertext carries 4096 entries. Keys and encryption use SEAL's generator, which the operating system seeds. Sums
are approximate, and so are integers until they are rounded.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import tenseal as ts

from siloseal.federation.errors import MessageError, OpeningFailed
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.one_key.cipher import Adder, Key
from siloseal.federation.sums.one_key.stock_parameters import (
    DEGREE,
    PART_BYTES,
    PRIME_BITS,
    SCALE_BITS,
    SLOTS,
    StockSizes,
)
from siloseal.federation.sums.session import RealDomain, Vector
from siloseal.federation.transport.wire import stock_ckks_pb2 as pb
from siloseal.federation.transport.wire.codec import decode


class StockCipher(StockSizes):
    """Stock CKKS of these sizes."""

    def draw_key(self) -> Key:
        return StockKey(self, _new_context())

    def read_key(self, private: bytes) -> Key:
        """Return the context that another silo drew: it must have both keys, and these parameters."""
        try:
            context = ts.context_from(private, n_threads=1)
        except (ValueError, RuntimeError) as error:
            raise MessageError(f"{len(private)} bytes are no context of TenSEAL's") from error
        complete = context.has_secret_key() and context.has_public_key() and context.global_scale == 2.0**SCALE_BITS
        if not complete or _key_parameters(context) != _key_parameters(public_context()):
            raise MessageError("a TenSEAL context came without its keys, or with other parameters than agreed")
        return StockKey(self, context)

    def adder(self, public: bytes) -> Adder:
        """Return the adder. The parameters, which everyone knows, are enough for it."""
        if public:
            raise MessageError(f"stock CKKS adds without a key, but one of {len(public)} bytes came")
        return StockAdder(self)

    def read(self, context: ts.Context, ciphertext: bytes) -> list[ts.CKKSVector]:
        """Return the stretches of a vector, each with the parameters and the scale of a sum, under whatever key."""
        parts = decode(pb.StockCiphertexts, ciphertext).parts
        if len(parts) != len(self.stretches) or any(len(part) > PART_BYTES for part in parts):
            raise MessageError(
                f"a vector came in {len(parts)} ciphertexts of {len(ciphertext)} bytes, expected "
                f"{len(self.stretches)} of at most {PART_BYTES} each"
            )
        return [_read_part(context, part, size) for part, size in zip(parts, self.stretches, strict=True)]

    def write(self, parts: Iterable[ts.CKKSVector]) -> bytes:
        """Return the ciphertexts as bytes, the inverse of `read`."""
        return pb.StockCiphertexts(parts=[part.serialize() for part in parts]).SerializeToString()


class StockKey(Key):
    """A TenSEAL context with both keys."""

    __slots__ = ("_cipher", "_context", "_private")

    def __init__(self, cipher: StockCipher, context: ts.Context) -> None:
        self._cipher, self._context = cipher, context
        self._private: bytes = context.serialize(
            save_public_key=True, save_secret_key=True, save_galois_keys=False, save_relin_keys=False
        )

    @property
    def public(self) -> bytes:
        return b""

    def private_bytes(self) -> bytes:
        return self._private

    def encrypt(self, vector: Vector, randomness: Randomness) -> bytes:
        """Encrypt the vector. SEAL draws by itself; `randomness` is not used."""
        if isinstance(self._cipher.domain, RealDomain):
            vector = np.rint(vector / self._cipher.grid) * self._cipher.grid
        starts = range(0, len(vector), SLOTS)
        return self._cipher.write(ts.ckks_vector(self._context, vector[at : at + SLOTS].tolist()) for at in starts)

    def decrypt(self, ciphertext: bytes) -> Vector:
        parts = self._cipher.read(self._context, ciphertext)
        opened = np.concatenate([np.asarray(part.decrypt(), dtype=np.float64) for part in parts])
        domain, silos = self._cipher.domain, self._cipher.silos
        reach = silos * (self._cipher.largest + self._cipher.grid / 2) + self._cipher.noise(silos)
        lowest = -reach if isinstance(domain, RealDomain) else -0.5
        if not (np.isfinite(opened).all() and lowest <= opened.min() and opened.max() <= reach):
            raise OpeningFailed(
                f"a sum came out beyond what {silos} silos can reach together: one of them encrypted something else "
                "than a vector, or under another key; begin another sum"
            )
        return opened if isinstance(domain, RealDomain) else np.rint(opened).astype(np.int64) % domain.modulus


class StockAdder:
    """Addition of stock CKKS ciphertexts, for which the parameters are enough."""

    def __init__(self, cipher: StockCipher) -> None:
        self._cipher = cipher

    def check(self, ciphertext: bytes) -> None:
        self._cipher.read(public_context(), ciphertext)

    def add(self, ciphertexts: Iterable[bytes]) -> bytes:
        totals, *others = (self._cipher.read(public_context(), ciphertext) for ciphertext in ciphertexts)
        for parts in others:
            try:
                totals = [total + part for total, part in zip(totals, parts, strict=True)]
            except (ValueError, RuntimeError) as error:  # SEAL refuses a sum that anyone could read
                raise MessageError("ciphertexts do not add up: one of them cancels another") from error
        return self._cipher.write(totals)


def _read_part(context: ts.Context, data: bytes, size: int) -> ts.CKKSVector:
    try:
        part = ts.ckks_vector_from(context, data)
        ciphertexts = part.ciphertext()
    except (ValueError, RuntimeError) as error:
        raise MessageError(f"{len(data)} bytes are no ciphertext of TenSEAL's: truncated or altered") from error
    shape = [(each.size(), each.scale, list(each.parms_id())) for each in ciphertexts]
    if part.size() != size or shape != [(2, 2.0**SCALE_BITS, _data_parameters(context))]:
        raise MessageError(
            f"a ciphertext is not a fresh one of {size} entries at scale 2^{SCALE_BITS}, or a sum of such"
        )
    return part


def _new_context() -> ts.Context:
    context = ts.context(ts.SCHEME_TYPE.CKKS, DEGREE, coeff_mod_bit_sizes=list(PRIME_BITS), n_threads=1)
    context.global_scale = 2**SCALE_BITS
    return context


@cache
def public_context() -> ts.Context:
    """Return a context with the parameters only. TenSEAL draws keys with every context; these are dropped unused."""
    context = _new_context()
    context.make_context_public()
    return context


def _key_parameters(context: ts.Context) -> Any:
    return context.seal_context().data.key_parms_id()


def _data_parameters(context: ts.Context) -> list[int]:
    return list(context.seal_context().data.first_parms_id())
