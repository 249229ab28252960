"""The session of a secure sum: what all parties agree on before the first message."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DomainError
from siloseal.federation.records.identity import KEY_BYTES
from siloseal.federation.transport.wire import sums_pb2 as pb

Vector = NDArray[np.float64] | NDArray[np.int64]


@dataclass(frozen=True)
class RealDomain:
    """Vectors of `length` real entries, none larger than `bound` in magnitude.

    >>> domain = siloseal.RealDomain(length=2, bound=1.0)
    >>> siloseal.sum_in_process(siloseal.secure_sum("plain"), [[0.5, 1.0], [0.5, -1.0]], domain=domain).total.tolist()
    [1.0, 0.0]
    """

    length: int
    bound: float

    def check(self, vector: Vector) -> NDArray[np.float64]:
        """Return the vector as this domain's, or raise `DomainError`."""
        if vector.shape != (self.length,):
            raise DomainError(f"a contribution has shape {vector.shape}, but the session agreed on ({self.length},)")
        entries = np.asarray(vector, dtype=np.float64)
        largest = float(max(entries.max(initial=0.0), -entries.min(initial=0.0)))  # NaN if there is one
        if not np.isfinite(largest):
            raise DomainError("a contribution holds NaN or infinity; give finite numbers, and lower a learning rate")
        if largest > self.bound * (1 + 2.0**-23):  # an entry at the bound may round up in single precision
            raise DomainError(
                f"a contribution reaches {largest:g}, but the session agreed on entries up to {self.bound:g}; "
                "raise that bound, or lower the learning rate if training diverged"
            )
        return entries


@dataclass(frozen=True)
class IntegerDomain:
    """Vectors of `length` integers modulo `modulus`, sent as 0 .. modulus - 1; sums wrap around.

    >>> domain = siloseal.IntegerDomain(length=2, modulus=10)
    >>> siloseal.sum_in_process(siloseal.secure_sum("secagg"), [[3, 8], [4, 5]], domain=domain).total.tolist()
    [7, 3]
    """

    length: int
    modulus: int

    def check(self, vector: Vector) -> NDArray[np.int64]:
        """Return the vector as this domain's, or raise `DomainError`."""
        if vector.shape != (self.length,) or vector.dtype != np.int64:
            raise DomainError(
                f"a contribution is {vector.dtype} of shape {vector.shape}, "
                f"but the session agreed on int64 of shape ({self.length},)"
            )
        if vector.size and not 0 <= vector.min() <= vector.max() < self.modulus:
            raise DomainError(f"a contribution holds integers outside 0 .. {self.modulus - 1}; reduce it first")
        return vector.astype(np.int64, copy=False)


Domain = RealDomain | IntegerDomain


def require_real(domain: Domain) -> RealDomain:
    """Return the domain, if it is of real vectors; `DomainError` for any other."""
    if not isinstance(domain, RealDomain):
        raise DomainError(f"only real vectors are noised or rounded to a grid, but the session's domain is {domain}")
    return domain


def require_integers(domain: Domain, silos: int) -> IntegerDomain:
    """Return the domain, if its sums fit 64 bits before they are reduced; `DomainError` for any other."""
    if not isinstance(domain, IntegerDomain):
        raise DomainError(
            f"this scheme carries integers, but the domain is {domain}; for reals wrap the scheme in "
            "siloseal.federation.sums.fixed_point.FixedPointSum(scheme, precision_bits=28)"
        )
    if not (domain.length >= 1 and domain.modulus > 1 and domain.modulus * silos < 2**63):
        raise DomainError(
            f"a sum of {silos} silos cannot carry {domain}; it must have an entry at least, a modulus of 2 at "
            "least, and silos times modulus must stay below 2^63: lower precision_bits or the modulus"
        )
    return domain


@dataclass(frozen=True)
class Session:
    """One sum: who takes part, over which domain, by which scheme, and how many must remain.

    `digest` binds every message to all of it, so that nothing can be replayed into another session.
    """

    id: bytes
    """32 bytes that name this sum and no other.

    The order of the SecAgg+ ring follows from it. So no party that takes part, the aggregator included, may have chosen
    it or tried out several: it hashes a nonce of every silo (`federation.job.releases.sum_id`), or is drawn at
    random where one process plays all parties.
    """
    roster: tuple[str, ...]
    domain: Domain
    scheme: str
    quorum: int
    identities: tuple[bytes, ...]
    """Public identity key of each silo, in the roster's order."""
    start: bytes = b""
    """Digest of what everyone started from, such as a model, so that all started from the same; empty where nothing.

    An aggregator that gave each silo another model, made so that only one silo's training would move it, could read
    that silo's update off the sum.
    """

    def __post_init__(self) -> None:
        if len(self.id) != 32:
            raise DomainError(f"a session id has {len(self.id)} bytes, expected 32")
        if len(set(self.roster)) != len(self.roster) or not all(self.roster):
            raise DomainError(f"a roster must name every silo once, found {self.roster}")
        if [len(key) for key in self.identities] != [KEY_BYTES] * len(self.roster):
            raise DomainError(f"{len(self.roster)} silos need as many identity keys of {KEY_BYTES} bytes each")
        if not 1 <= self.quorum <= len(self.roster):
            most = len(self.roster)
            raise DomainError(f"a quorum of {self.quorum} does not fit {most} silos; choose one from 1 to {most}")

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the deterministic encoding."""
        return hashlib.sha256(self.to_wire().SerializeToString(deterministic=True)).digest()

    def bind(self, label: str, *parts: bytes) -> bytes:
        """Return the SHA-256 of a statement in this session only. Lengths go in: no two statements look alike."""
        digest = hashlib.sha256(self.digest)
        for part in (label.encode(), *parts):
            digest.update(len(part).to_bytes(8, "little") + part)
        return digest.digest()

    def identity(self, silo: str) -> bytes:
        """Return the public identity key of the silo."""
        return self.identities[self.places[silo]]

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of each silo on the roster."""
        return {silo: place for place, silo in enumerate(self.roster)}

    def share_point(self, silo: str) -> int:
        """Return the point at which polynomials are evaluated for the silo's Shamir shares; the secret is at 0."""
        return self.places[silo] + 1

    def to_wire(self) -> pb.SumSession:
        """Return the session as a message."""
        wire = pb.SumSession(
            id=self.id,
            roster=self.roster,
            scheme=self.scheme,
            quorum=self.quorum,
            identities=self.identities,
            start=self.start,
        )
        match self.domain:
            case RealDomain(length=length, bound=bound):
                wire.real.CopyFrom(pb.RealDomain(length=length, bound=bound))
            case IntegerDomain(length=length, modulus=modulus):
                wire.integer.CopyFrom(pb.IntegerDomain(length=length, modulus=modulus))
        return wire

    @classmethod
    def from_wire(cls, wire: pb.SumSession) -> "Session":
        """Read the session from a message that may be hostile: everything is checked again."""
        domain: Domain
        match wire.WhichOneof("domain"):
            case "real":
                domain = RealDomain(wire.real.length, wire.real.bound)
            case "integer":
                domain = IntegerDomain(wire.integer.length, wire.integer.modulus)
            case _:
                raise DomainError("a session came without a domain; both sides must run the same version")
        keys = tuple(wire.identities)
        return cls(wire.id, tuple(wire.roster), domain, wire.scheme, wire.quorum, keys, wire.start)
