"""SEAL's objects as arrays and back; and that nothing of it touches the disk."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from tenseal import sealapi

from siloseal.federation.errors import MessageError
from siloseal.federation.sums.joint_key.moduli import PRIMES, ring_of
from siloseal.federation.sums.rlwe import seal_codec
from siloseal.federation.sums.rlwe.polynomial_ring import Ring
from siloseal.federation.sums.rlwe.seal_codec import Residues

ROOT = Path(__file__).parents[4]


def uniform(ring: Ring, count: int) -> Residues:
    draw = np.random.default_rng(1)
    return np.stack([draw.integers(0, prime, (count, ring.degree), dtype=np.uint64) for prime in ring.primes], axis=1)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


@pytest.mark.parametrize("degree", list(PRIMES))
@pytest.mark.parametrize("count", [2, 8, 16])
@pytest.mark.parametrize("ntt", [False, True])
def test_polynomials_survive_a_seal_ciphertext(degree: int, count: int, ntt: bool) -> None:
    ring = ring_of(degree)
    polynomials = uniform(ring, count)
    loaded = seal_codec.ciphertext(ring._context, ring._whole_id, polynomials, ntt=ntt)
    assert loaded.size() == count
    assert loaded.is_ntt_form() == ntt
    read = seal_codec.polynomials_of(loaded, primes=len(ring.primes), degree=degree)
    np.testing.assert_array_equal(read, polynomials)


def test_a_plaintext_holds_the_residues_it_was_made_of() -> None:
    ring = ring_of(8192)
    polynomial = uniform(ring, 1)[0]
    loaded = seal_codec.plaintext(ring._context, ring._whole_id, polynomial)
    assert loaded.is_ntt_form()
    assert [loaded[index] for index in range(loaded.coeff_count())] == polynomial.reshape(-1).tolist()


def test_polynomials_that_are_not_contiguous_are_taken_in_their_order() -> None:
    ring = ring_of(8192)
    strided = uniform(ring, 6)[::3]
    loaded = seal_codec.ciphertext(ring._context, ring._whole_id, strided, ntt=True)
    np.testing.assert_array_equal(seal_codec.polynomials_of(loaded, primes=3, degree=8192), strided)


class Saved:
    """Writes what SEAL would, with a body of our choice."""

    def __init__(self, compression: int, body: bytes) -> None:
        self.content = struct.pack("<5sBHQ", b"magic", compression, 0, 16 + len(body)) + body

    def size(self) -> int:
        return 1

    def save(self, path: str) -> None:
        Path(path).write_bytes(self.content)


RESIDUES = np.arange(24, dtype=np.uint64).reshape(1, 3, 8)
BODY = bytes(73 + 16 + 8) + RESIDUES.tobytes()


@pytest.mark.parametrize(("compression", "body"), [(0, BODY), (2, zstandard.compress(BODY))], ids=["none", "zstd"])
def test_a_body_is_read_compressed_or_not(compression: int, body: bytes) -> None:
    read = seal_codec.polynomials_of(Saved(compression, body), primes=3, degree=8)
    np.testing.assert_array_equal(read, RESIDUES)


def test_another_compression_is_refused() -> None:
    with pytest.raises(MessageError):
        seal_codec.polynomials_of(Saved(1, BODY), primes=3, degree=8)


def test_memory_files_are_closed() -> None:
    ring = ring_of(8192)
    polynomials, before = uniform(ring, 2), open_files()
    for _ in range(3):
        divided = ring.multiply_add(polynomials, polynomials[0], polynomials, divide=True)
        ring.interpolate(divided, ring.primes[:-1] - 1, divided=True)
    assert open_files() == before


def test_memory_files_are_closed_when_seal_refuses_what_is_in_them() -> None:
    ring = ring_of(8192)
    polynomials, before = uniform(ring, 2), open_files()
    polynomials[1, 1, 5] = ring.primes[1]
    for _ in range(3):
        with pytest.raises(RuntimeError, match="invalid"):
            seal_codec.ciphertext(ring._context, ring._whole_id, polynomials, ntt=True)
        with pytest.raises(MessageError):
            seal_codec.polynomials_of(Saved(1, BODY), primes=3, degree=8)
    assert open_files() == before


def test_seal_is_given_memory_files_only(monkeypatch: pytest.MonkeyPatch) -> None:
    files = list[tuple[str, str]]()

    def spied(kind: type[Any]) -> type[Any]:
        class Spy(kind):  # type: ignore[misc]
            def load(self, context: Any, path: str) -> None:
                files.append((path, os.readlink(path)))  # noqa: PTH115
                super().load(context, path)

            def save(self, path: str) -> None:
                files.append((path, os.readlink(path)))  # noqa: PTH115
                super().save(path)

        return Spy

    for name in ("Ciphertext", "Plaintext"):
        monkeypatch.setattr(sealapi, name, spied(getattr(sealapi, name)))
    seal_codec._magic.cache_clear()
    ring = Ring(8192, (60, 60, 60), divides=True)
    polynomials = ring.evaluate(uniform(ring, 2))
    divided = ring.multiply_add(polynomials, polynomials[0], polynomials, divide=True)
    ring.interpolate(divided, ring.primes[:-1] - np.uint64(1), divided=True)
    assert len(files) == 10  # the magic; 1 in and 1 out; 3 in and 1 out; 2 in and 1 out
    for path, target in files:
        assert re.fullmatch(r"/proc/self/fd/\d+", path)
        assert target == "/memfd:siloseal (deleted)"


KEYS_AND_OPENING = """
import json, os, sys
from pathlib import Path
import numpy as np
from siloseal.federation.sums.joint_key.encryption import encrypt
from siloseal.federation.sums.joint_key.keys import SecretShare
from siloseal.federation.sums.joint_key.parameters import Parameters
from siloseal.federation.sums.joint_key.moduli import ring_of
from siloseal.federation.sums.rlwe.uniform import expand_uniform
from siloseal.federation.sums.joint_key.wire import from_bytes
from siloseal.federation.randomness import SecureRandomness

written = []
def watch(event, arguments):
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        written.append(str(arguments[0]))
sys.addaudithook(watch)

def bytes_to_disk():
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["write_bytes"])

before = bytes_to_disk()
parameters = Parameters(2, 20_000, 8192, 20, 1, 80, keys=2)
ring, randomness = ring_of(8192), SecureRandomness()
share, common = SecretShare.draw(randomness), expand_uniform(ring, b"public")
public = share.public_share(parameters, common, randomness)
upload = encrypt(parameters, public, common, np.ones(20_000, dtype=np.int64), randomness)
opened = share.partial_decrypt(parameters, from_bytes(ring, upload.c1), randomness)
assert len(opened) == 3
print(json.dumps({"written": written, "bytes": bytes_to_disk() - before}))
"""


def environment(temporary: Path) -> dict[str, str]:
    here = {name: str(temporary) for name in ("TMPDIR", "TMP", "TEMP", "HOME")}
    return {**os.environ, **here, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def empty(tmp_path: Path) -> tuple[Path, Path]:
    """A working folder and a temporary folder with nothing in them."""
    for name in ("work", "temporary"):
        (tmp_path / name).mkdir()
    return tmp_path / "work", tmp_path / "temporary"


def test_keys_encryption_and_opening_write_no_file(empty: tuple[Path, Path]) -> None:
    """No file of Python's is opened for writing, the kernel counts no byte to a disk, and no folder has anything new."""
    work, temporary = empty
    finished = subprocess.run(
        [sys.executable, "-c", KEYS_AND_OPENING],
        cwd=work, env=environment(temporary), check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert json.loads(finished.stdout) == {"written": [], "bytes": 0}
    assert not list(work.iterdir())
    assert not list(temporary.iterdir())


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_whole_process_opens_nothing_for_writing_but_memory_files(empty: tuple[Path, Path], tmp_path: Path) -> None:
    work, temporary = empty
    trace = tmp_path / "trace"
    watch = ["strace", "-f", "-qq", "-e", "trace=open,openat,openat2,creat", "-o", str(trace)]
    finished = subprocess.run(
        [*watch, sys.executable, "-c", KEYS_AND_OPENING],
        cwd=work, env=environment(temporary), check=False, capture_output=True, text=True,
    )  # fmt: skip
    if "ptrace" in finished.stderr:
        pytest.skip("strace may not trace here")
    assert finished.returncode == 0, finished.stderr
    writing = re.compile(r'\bcreat\("([^"]*)"|"([^"]*)", [^)]*O_(?:WRONLY|RDWR|CREAT)')
    opened = [match[1] or match[2] for match in map(writing.search, trace.read_text().splitlines()) if match]
    assert len(opened) > 5
    assert {re.sub(r"\d+", "N", path) for path in opened} == {"/proc/self/fd/N"}
