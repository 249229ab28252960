"""What a silo agrees to before it works: one job, in one run, with one roster. Everyone signs it; everyone checks all.

So the aggregator cannot run different jobs with different silos, slip in a silo of its own, or change the job later.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from federation.errors import WrongContributors
from federation.identity import Identity, check_signature
from federation.wire import messages_pb2 as pb


@dataclass(frozen=True)
class Agreement:
    """One job in one run. `roster` holds the job's silos and their public keys, as this silo knows them."""

    run_id: bytes
    job_digest: bytes
    roster: Mapping[str, bytes]

    def sign(self, me: Identity) -> bytes:
        """This silo agrees."""
        return me.sign(self._statement(me.name))

    def check(self, said: Sequence[pb.Piece]) -> None:
        """Everyone on the roster, and nobody else, has signed the same."""
        names = [piece.silo for piece in said]
        if sorted(names) != sorted(self.roster):
            raise WrongContributors(
                f"agreements came of {', '.join(names) or 'nobody'}, expected one of each of {', '.join(self.roster)}"
            )
        for piece in said:
            check_signature(piece.silo, self.roster[piece.silo], piece.data, self._statement(piece.silo))

    def _statement(self, silo: str) -> bytes:
        digest = hashlib.sha256(b"siloseal: a silo agrees to a job")
        keyed = [part for name in sorted(self.roster) for part in (name.encode(), self.roster[name])]
        for part in (silo.encode(), self.run_id, self.job_digest, *keyed):
            digest.update(len(part).to_bytes(8, "little") + part)
        return digest.digest()
