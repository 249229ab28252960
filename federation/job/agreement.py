"""What a silo agrees to before it works: one job, in one run, with one roster. Everyone signs it; everyone checks all.

So the aggregator cannot run different jobs with different silos, slip in a silo of its own, or change the job later.
Each silo also signs the commitment to its nonce (`federation.job.beacon`), which the aggregator cannot replace either.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
        signatures = of_everyone(agreements, self.roster, "agreements")
        committed = of_everyone(commitments, self.roster, "commitments")
        for silo, signature in signatures.items():
            check_signature(silo, self.roster[silo], signature, self._statement(silo, committed[silo]))
        return committed

    def _statement(self, silo: str, commitment: bytes) -> bytes:
        keyed = [part for name in sorted(self.roster) for part in (name.encode(), self.roster[name])]
        return statement("a silo agrees to a job", silo.encode(), self.run_id, self.job_digest, commitment, *keyed)


def of_everyone(said: Sequence[pb.Piece], roster: Mapping[str, bytes], what: str) -> dict[str, bytes]:
    """What each silo said, or `WrongContributors` unless there is one piece of everyone on the roster."""
    names = [piece.silo for piece in said]
    if sorted(names) != sorted(roster):
        raise WrongContributors(
            f"{what} came of {', '.join(names) or 'nobody'}, expected one of each of {', '.join(roster)}"
        )
    return {piece.silo: piece.data for piece in said}


def statement(label: str, *parts: bytes) -> bytes:
    """SHA-256 of what a label names. Lengths go in: no two statements look alike."""
    digest = hashlib.sha256(b"siloseal")
    for part in (label.encode(), *parts):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()
