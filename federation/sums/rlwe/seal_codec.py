"""SEAL's objects as arrays and back, without the disk.

The bindings let an object enter and leave through a named file only. A memory file, named by its entry under /proc,
keeps secrets off the disk. What lies in it is SEAL 4's serialisation: a 16-byte header (magic, header size, version,
compression, total size), then the body. SEAL writes bodies compressed with zstd and reads uncompressed ones too.
"""

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol

import numpy as np
import zstandard
from numpy.typing import NDArray
from tenseal import sealapi

from siloseal.federation.errors import MessageError

Residues = NDArray[np.uint64]

_HEADER = struct.Struct("<5sBHQ")  # magic, header size and version; compression; reserved; total size
_CIPHERTEXT = struct.Struct("<32sBQQQdQ")  # parms id, NTT form, polynomials, degree, primes, scale, correction factor
_PLAINTEXT = struct.Struct("<32sQd")  # parms id, coefficients, scale
_COUNT = struct.Struct("<Q")
_UNCOMPRESSED, _ZSTD = 0, 2


class _Saved(Protocol):
    def save(self, path: str) -> None: ...


def ciphertext(context: Any, parms_id: bytes, polynomials: Residues, *, ntt: bool) -> Any:
    """Return a SEAL ciphertext with these polynomials, of shape (polynomials, primes, degree)."""
    size, primes, degree = polynomials.shape
    fields = _CIPHERTEXT.pack(parms_id, ntt, size, degree, primes, 1.0, 1)
    return _load(sealapi.Ciphertext(), context, fields, polynomials)


def plaintext(context: Any, parms_id: bytes, polynomial: Residues) -> Any:
    """Return a SEAL plaintext in NTT form, of shape (primes, degree)."""
    return _load(sealapi.Plaintext(), context, _PLAINTEXT.pack(parms_id, polynomial.size, 1.0), polynomial)


def polynomials_of(ciphertext: Any, *, primes: int, degree: int) -> Residues:
    """Return the polynomials of a SEAL ciphertext, of shape (polynomials, primes, degree)."""
    shape = (ciphertext.size(), primes, degree)
    most = 2**10 + 8 * shape[0] * primes * degree
    start = _CIPHERTEXT.size + _HEADER.size + _COUNT.size
    return np.frombuffer(_body(ciphertext, most), dtype="<u8", offset=start).reshape(shape)


def _load(target: Any, context: Any, fields: bytes, residues: Residues) -> Any:
    data = np.ascontiguousarray(residues, dtype="<u8")
    length = _HEADER.size + _COUNT.size + data.nbytes
    array = _header(length) + _COUNT.pack(data.size)
    with _memory_file() as (handle, path):
        _write(handle, [_header(_HEADER.size + len(fields) + length), fields, array, data.data.cast("B")])
        target.load(context, path)
    return target


def _body(saved: _Saved, most: int) -> bytes:
    with _memory_file() as (handle, path):
        saved.save(path)
        content = os.pread(handle, os.fstat(handle).st_size, 0)
    compression = _HEADER.unpack_from(content)[1]
    body = memoryview(content)[_HEADER.size :]
    if compression == _UNCOMPRESSED:
        return bytes(body)
    if compression != _ZSTD:
        raise MessageError(
            f"SEAL wrote compression {compression}, expected 0 (none) or 2 (zstd); install tenseal 0.3.18"
        )
    return zstandard.ZstdDecompressor().decompress(body, max_output_size=most)


@cache
def _magic() -> bytes:
    """The bytes with which this version of SEAL begins its files."""
    with _memory_file() as (handle, path):
        sealapi.Plaintext().save(path)
        return os.pread(handle, 5, 0)


def _header(total: int) -> bytes:
    return _HEADER.pack(_magic(), _UNCOMPRESSED, 0, total)


def _write(handle: int, parts: Sequence[bytes | memoryview]) -> None:
    for part in parts:
        view = memoryview(part)
        while view:
            view = view[os.write(handle, view) :]


@contextmanager
def _memory_file() -> Iterator[tuple[int, str]]:
    handle = os.memfd_create("siloseal")
    try:
        yield handle, f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)
