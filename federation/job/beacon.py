"""The beacon of a run: 32 bytes that hash a nonce of every silo, so that no party could choose them.

Each silo draws a nonce when it enrols, and the agreement that it signs holds a commitment to it. A silo reveals its
nonce when it has seen everyone's commitment, and keeps those commitments. It works when every nonce has come and is
the one that its silo had committed to. What follows from the beacon, such as the order of the SecAgg+ ring, is known
to nobody before every silo is bound to its nonce: it cannot be tried out.

What remains: the aggregator, and silos that work for it, hear the last nonce first. They may leave a run whose beacon
they dislike and begin another. Each such try is a run in which every silo enrols, begins and writes a line in its audit
log: g bits of a bound cost 2^g runs, not 2^g hashes. Such a run ends before anything is trained or charged, and may
take seconds: a day of them is worth about 13 bits, and shows as thousands of runs in every silo's log.

A silo that signs two commitments lets the aggregator show each to other silos. Those silos then have different beacons,
and each of them only the one that it was bound to before it revealed its nonce. Their sums have different sessions, so
nothing that one of them says fits into a sum of the other.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from siloseal.federation.errors import CommitmentBroken, MessageError
from siloseal.federation.job.agreement import Agreement, AgreementKey, Pairs, of_everyone, pairs, statement
from siloseal.federation.transport.wire import sums_pb2 as pb

NONCE_BYTES = 32
COMMITMENT_BYTES = 32
BEACON_BYTES = 32


def commit(agreement: Agreement, silo: str, nonce: bytes) -> bytes:
    """The silo's commitment to its nonce, of no use in another run, to another job or to another silo."""
    return statement("a silo commits to a nonce", silo.encode(), agreement.run_id, agreement.job_digest, nonce)


def require_committed(agreement: Agreement, silo: str, nonce: bytes, commitment: bytes) -> None:
    """Raise `CommitmentBroken` unless this is the nonce that the silo had committed to."""
    if len(nonce) != NONCE_BYTES:
        raise MessageError(f"a nonce of {len(nonce)} bytes came as {silo}'s, expected {NONCE_BYTES}")
    if commit(agreement, silo, nonce) != commitment:
        raise CommitmentBroken(
            f"the nonce that came as {silo}'s is not the one that it had committed to: {silo} or the aggregator "
            "replaced it; begin another run"
        )


def join_nonces(agreement: Agreement, commitments: Mapping[str, bytes], said: Sequence[pb.Piece]) -> bytes:
    """The beacon, if there is one nonce of everyone on the roster, and each is as committed to."""
    return _joined(agreement.key, tuple(commitments.items()), pairs(said))


@lru_cache(maxsize=4)
def _joined(key: AgreementKey, commitments: Pairs, said: Pairs) -> bytes:
    """The beacon, computed once for the same nonces in one process, as signatures are checked (`agreement`)."""
    run_id, job_digest, keys = key
    agreement = Agreement(run_id, job_digest, dict(keys))
    committed = dict(commitments)
    nonces = of_everyone(said, agreement.roster, "nonces")
    for silo, nonce in nonces.items():
        require_committed(agreement, silo, nonce, committed[silo])
    named = [part for silo in sorted(nonces) for part in (silo.encode(), nonces[silo])]
    return statement("the beacon of a run", agreement.run_id, *named)
