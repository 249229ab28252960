"""Uploads as numbers: words under masks, residues of ciphertexts. So cheats are written once for all sums.

All numbers of an upload stand in one row, each with its modulus. Adding uploads up is adding these.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from siloseal.experiments.attacks.attacked_sum import DoesNotApply
from siloseal.experiments.attacks.joint_key_recovery import reading_step
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.ckks.setting import Setting
from siloseal.federation.sums.ckks.uploads import sign_upload
from siloseal.federation.sums.ckks.wire import rows, to_bytes
from siloseal.federation.sums.joint_key import statements, wire
from siloseal.federation.sums.joint_key.moduli import ring_of
from siloseal.federation.sums.joint_key.parameters import Parameters
from siloseal.federation.sums.masked.words import WordRing
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.session import Domain, IntegerDomain
from siloseal.federation.transport.wire import ckks_pb2, joint_key_pb2, sums_pb2
from siloseal.federation.transport.wire.codec import decode, from_array, to_array

Numbers = NDArray[np.uint64]


class UploadFormat(Protocol):
    """Format by which the uploads of one session are read and written."""

    @property
    def number(self) -> int:
        """Number of the round in which uploads go up."""

    @property
    def moduli(self) -> Numbers:
        """Modulus of each number."""

    @property
    def constant(self) -> Numbers:
        """An upload that is a constant: as large as it is useful to whoever looks for it in what is opened."""

    def read(self, body: bytes) -> Numbers:
        """Return the numbers of an upload."""

    def write(self, numbers: Numbers) -> bytes:
        """Return the accomplice's upload of these numbers, signed by it where uploads are."""


@dataclass(frozen=True)
class PlainFormat:
    """Integers in clear."""

    domain: Domain
    number: int = 0

    @property
    def moduli(self) -> Numbers:
        if not isinstance(self.domain, IntegerDomain):
            raise DoesNotApply("the plain sum is played with integers")
        return np.full(self.domain.length, self.domain.modulus, dtype=np.uint64)

    @property
    def constant(self) -> Numbers:
        return np.ones(self.domain.length, dtype=np.uint64)

    def read(self, body: bytes) -> Numbers:
        return from_array(decode(sums_pb2.Array, body), dtype="<i8", length=self.domain.length).astype(np.uint64)

    def write(self, numbers: Numbers) -> bytes:
        return to_array(numbers.astype(np.int64)).SerializeToString()


@dataclass(frozen=True)
class MaskedFormat:
    """Words under masks: SecAgg, additive sharing."""

    ring: WordRing
    number: int

    @property
    def moduli(self) -> Numbers:
        return np.full(self.ring.length, 2**self.ring.bits, dtype=np.uint64)

    @property
    def constant(self) -> Numbers:
        return np.ones(self.ring.length, dtype=np.uint64)

    def read(self, body: bytes) -> Numbers:
        return self.ring.unpack(body).astype(np.uint64)

    def write(self, numbers: Numbers) -> bytes:
        return self.ring.pack(numbers.astype(self.ring.dtype))


@dataclass(frozen=True)
class CkksFormat:
    """Coefficients of a ciphertext under a silo's own key share, then the words of that share under masks."""

    setting: Setting
    me: Identity
    number: int = Round.UPLOAD

    @cached_property
    def moduli(self) -> Numbers:
        sizes = self.setting.parameters
        words = np.full(sizes.degree, 2**sizes.key_bits, dtype=np.uint64)
        return np.concatenate([np.repeat(sizes.ring.primes, sizes.coefficients), words])

    @property
    def constant(self) -> Numbers:
        """A constant upload: half of q on every coefficient, and nothing as the key."""
        numbers: Numbers = self.moduli // np.uint64(2)
        numbers[-self.setting.parameters.degree :] = 0
        return numbers

    @property
    def long_key(self) -> Numbers:
        """An upload with half of 2^w on every entry of the key share, which should be short."""
        numbers: Numbers = self.moduli // np.uint64(2)
        numbers[: -self.setting.parameters.degree] = 0
        return numbers

    def read(self, body: bytes) -> Numbers:
        upload = decode(ckks_pb2.CkksUpload, body)
        words = self.setting.plan.ring.unpack(upload.masked_key).astype(np.uint64)
        return np.concatenate([*rows(self.setting.parameters, upload.ciphertext), words])

    def write(self, numbers: Numbers) -> bytes:
        sizes, ring = self.setting.parameters, self.setting.plan.ring
        residues = numbers[: -sizes.degree].reshape(len(sizes.ring.primes), sizes.coefficients)
        masked_key = ring.pack(numbers[-sizes.degree :].astype(ring.dtype))
        upload = ckks_pb2.CkksUpload(ciphertext=to_bytes(sizes, residues), masked_key=masked_key)
        return sign_upload(self.setting.session, self.me, upload)


@dataclass(frozen=True)
class JointKeyFormat:
    """Values of c0 at all points, divided by the last prime, then those of c1."""

    parameters: Parameters
    number: int = statements.Round.UPLOAD

    @cached_property
    def moduli(self) -> Numbers:
        sizes, ring = self.parameters, ring_of(self.parameters.degree)
        points = np.repeat(ring.primes, ring.degree)
        return np.concatenate([*[points[: -ring.degree]] * sizes.messages, *[points] * sizes.groups])

    @cached_property
    def constant(self) -> Numbers:
        """A constant upload: c0 = 0, c1 = Delta, which is the same at every point. See `joint_key_recovery`."""
        delta = reading_step(self.parameters) * ring_of(self.parameters.degree).divisor
        numbers = np.array([delta % int(modulus) for modulus in self.moduli], dtype=np.uint64)
        numbers[: self._c0_numbers] = 0
        return numbers

    def read(self, body: bytes) -> Numbers:
        upload, ring = decode(joint_key_pb2.CiphertextUpload, body), ring_of(self.parameters.degree)
        c0, c1 = wire.from_bytes(ring, upload.c0, divided=True), wire.from_bytes(ring, upload.c1)
        return np.concatenate([c0.reshape(-1), c1.reshape(-1)])

    def write(self, numbers: Numbers) -> bytes:
        c0, c1 = np.split(numbers, [self._c0_numbers])
        return joint_key_pb2.CiphertextUpload(c0=wire.to_bytes(c0), c1=wire.to_bytes(c1)).SerializeToString()

    @property
    def _c0_numbers(self) -> int:
        ring = ring_of(self.parameters.degree)
        return self.parameters.messages * (len(ring.primes) - 1) * ring.degree
