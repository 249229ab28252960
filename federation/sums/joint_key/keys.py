"""The joint key: its public half, joined by every silo from everyone's shares, and the secret share of one silo."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import ShareReused
from siloseal.federation.randomness import Randomness
from siloseal.federation.secret import Secret
from siloseal.federation.sums.joint_key.moduli import ring_of
from siloseal.federation.sums.joint_key.packing import draw_flooding
from siloseal.federation.sums.joint_key.parameters import Parameters
from siloseal.federation.sums.joint_key.sampling import draw_errors, expand_ternary
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.sums.rlwe.uniform import expand_uniform
from siloseal.federation.sums.session import Session

SEED_BYTES = 64


class SecretShare(Secret):
    """One silo's additive share of the joint secret key, kept as the seed that it grows from. It opens one sum."""

    __slots__ = ("_seed",)

    def __init__(self, seed: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise ValueError(f"a seed has {len(seed)} bytes, expected {SEED_BYTES}")
        self._seed: bytes | None = seed

    @classmethod
    def draw(cls, randomness: Randomness) -> "SecretShare":
        """Draw a fresh share."""
        return cls(randomness.bits(SEED_BYTES))

    @property
    def seed(self) -> bytes:
        """Return the seed, for splitting it among the peers and for the silo's own state."""
        if self._seed is None:
            raise ShareReused("this key share has served one sum already; a second answer would leak the key")
        return self._seed

    @property
    def spent(self) -> bool:
        """Whether the share has opened a sum."""
        return self._seed is None

    def public_share(self, parameters: Parameters, common: Residues, randomness: Randomness) -> Residues:
        """Compute b_i = a s_i + e_i for each key polynomial, evaluated."""
        ring = ring_of(parameters.degree)
        errors = ring.small(draw_errors(randomness, (parameters.keys, parameters.degree)))
        return ring.multiply_add(ring.evaluate(ring.small(_polynomials(self.seed, parameters))), common, errors)

    def partial_decrypt(self, parameters: Parameters, c1: Residues, randomness: Randomness) -> Residues:
        """Compute flooding - c1 s_i for each message, divided. The share is spent before the answer exists."""
        seed, self._seed = self.seed, None
        flooding = draw_flooding(parameters, randomness, parameters.messages)
        return _minus_products(parameters, _polynomials(seed, parameters), c1, flooding)

    def decrypt_for_missing(self, parameters: Parameters, c1: Residues) -> Residues:
        """Compute -c1 s_i without flooding, for whoever recovered the seed: nothing is left to hide from them."""
        return _minus_products(parameters, _polynomials(self.seed, parameters), c1, None)


def seed_digest(seed: bytes) -> bytes:
    """Digest that tells a recovered seed from another, and nothing about it: a seed has 512 random bits."""
    return hashlib.sha256(b"siloseal seed" + seed).digest()


def common_polynomial(session: Session, parameters: Parameters) -> Residues:
    """The polynomial a, which follows from the session's digest: public, and nobody's choice."""
    return expand_uniform(ring_of(parameters.degree), session.bind("common polynomial"))


def _polynomials(seed: bytes, parameters: Parameters) -> NDArray[np.int64]:
    """The secret polynomials that a seed stands for."""
    labels = (f"secret polynomial {number}".encode() for number in range(parameters.keys))
    return np.stack([expand_ternary(seed, label, parameters.degree) for label in labels])


def _minus_products(
    parameters: Parameters, secrets: NDArray[np.int64], c1: Residues, flooding: Residues | None
) -> Residues:
    """Compute flooding - c1 s, divided. Message `group * keys + key` has that group's c1 and that key's s."""
    ring = ring_of(parameters.degree)
    negated = ring.evaluate(ring.small(-secrets))
    opened = np.empty((parameters.messages, len(ring.primes) - 1, ring.degree), dtype=np.uint64)
    for key in range(parameters.keys):
        mine = slice(key, None, parameters.keys)
        added = None if flooding is None else flooding[mine]
        opened[mine] = ring.multiply_add(c1[: len(opened[mine])], negated[key], added, divide=True)
    return opened
