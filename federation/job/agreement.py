"""What a silo agrees to before it works: one job, in one run, with one roster. Everyone signs it; everyone checks all.

So the aggregator cannot run different jobs with different silos, slip in a silo of its own, or change the job later.
Each silo also signs the commitment to its nonce (`federation.job.beacon`), which the aggregator cannot replace either.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from siloseal.federation.errors import WrongContributors
from siloseal.federation.records.identity import Identity, check_signature
from siloseal.federation.transport.wire import sums_pb2 as pb

RUN_ID_BYTES = 32
"""Number of bytes of a run's id, which the aggregator draws."""


@dataclass(frozen=True)
class Agreement:
    """One job in one run. `roster` holds the job's silos and their public keys, as this silo knows them."""

    run_id: bytes
    job_digest: bytes
    roster: Mapping[str, bytes]

    def sign(self, me: Identity, commitment: bytes) -> bytes:
        """This silo's signature, by which it agrees and is bound to its nonce."""
        return me.sign(self._statement(me.name, commitment))

    def check(self, agreements: Sequence[pb.Piece], commitments: Sequence[pb.Piece]) -> dict[str, bytes]:
        """The commitments, if everyone on the roster, and nobody else, has signed the same with its own commitment."""
        return dict(_checked(self.key, pairs(agreements), pairs(commitments)))

    @property
    def key(self) -> "AgreementKey":
        """The agreement as a value that a cache can tell from others."""
        return self.run_id, self.job_digest, tuple(self.roster.items())

    def _statement(self, silo: str, commitment: bytes) -> bytes:
        signed = hashed_parts("a silo agrees to a job", silo.encode(), self.run_id, self.job_digest, commitment)
        return hashlib.sha256(signed + _keyed(tuple(self.roster.items()))).digest()


Pairs = tuple[tuple[str, bytes], ...]
"""Silos, each with its key or with what it said, as a value that a cache can tell from others."""
AgreementKey = tuple[bytes, bytes, Pairs]
"""Run, job, and the roster with its keys."""


@lru_cache(maxsize=4)
def _checked(key: AgreementKey, agreements: Pairs, commitments: Pairs) -> Mapping[str, bytes]:
    """The check of an agreement, once for the same pieces in one process: a silo that has a machine to itself makes it.

    Of a thousand silos in one simulation each would check a thousand signatures, always the same. What fails is not
    remembered.
    """
    run_id, job_digest, keys = key
    agreement = Agreement(run_id, job_digest, dict(keys))
    signatures = of_everyone(agreements, agreement.roster, "agreements")
    committed = of_everyone(commitments, agreement.roster, "commitments")
    for silo, signature in signatures.items():
        check_signature(silo, agreement.roster[silo], signature, agreement._statement(silo, committed[silo]))
    return committed


@lru_cache(maxsize=4)
def _keyed(keys: Pairs) -> bytes:
    """The roster as it goes into what everyone signs: the same for all, and long where silos are many."""
    return _with_lengths(part for name, key in sorted(keys) for part in (name.encode(), key))


def pairs(pieces: Sequence[pb.Piece]) -> Pairs:
    """The pieces as values, in the order in which they came."""
    return tuple((piece.silo, piece.data) for piece in pieces)


def of_everyone(said: Pairs, roster: Mapping[str, bytes], what: str) -> dict[str, bytes]:
    """What each silo said, or `WrongContributors` unless there is one piece of everyone on the roster."""
    names = [silo for silo, _ in said]
    if sorted(names) != sorted(roster):
        raise WrongContributors(
            f"{what} came of {', '.join(names) or 'nobody'}, expected one of each of {', '.join(roster)}"
        )
    return dict(said)


def statement(label: str, *parts: bytes) -> bytes:
    """SHA-256 of what a label names. Lengths go in: no two statements look alike."""
    return hashlib.sha256(hashed_parts(label, *parts)).digest()


def hashed_parts(label: str, *parts: bytes) -> bytes:
    """The bytes that a statement hashes."""
    return b"siloseal" + _with_lengths((label.encode(), *parts))


def _with_lengths(parts: Iterable[bytes]) -> bytes:
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)
