"""How a silo enters a run: it enrols, sees that everyone agrees and is bound to a nonce, and hears all nonces.

`draw` is what the silo keeps of it on its disk, together with each reply: after a crash it has the same nonce, and
holds everyone else to the same commitments.
"""

from siloseal.federation.job.agreement import Agreement
from siloseal.federation.job.beacon import NONCE_BYTES, commit, join_nonces, require_committed
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.transport.wire import messages_pb2 as pb


def enrol(agreement: Agreement, me: Identity, draw: pb.BeaconDraw, randomness: Randomness) -> pb.Enrolled:
    """Draw a nonce, and sign the agreement with the commitment to it."""
    draw.nonce = randomness.bits(NONCE_BYTES)
    commitment = commit(agreement, me.name, draw.nonce)
    return pb.Enrolled(identity=me.public, agreement=agreement.sign(me, commitment), commitment=commitment)


def begin(agreement: Agreement, me: Identity, request: pb.Begin, draw: pb.BeaconDraw) -> pb.Begun:
    """Reveal the nonce, once everyone has signed the same agreement and is bound to a nonce of its own.

    This silo's commitment must be the one to its last nonce: a silo whose folder was lost may have signed another
    before, and with old ones, whose nonces are known, the aggregator could choose among beacons.
    """
    committed = agreement.check(request.agreements, request.commitments)
    require_committed(agreement, me.name, draw.nonce, committed[me.name])
    draw.commitments.extend(request.commitments)
    return pb.Begun(nonce=draw.nonce)


def hear_nonces(agreement: Agreement, request: pb.Nonces, draw: pb.BeaconDraw) -> pb.Ready:
    """Compute the run's beacon, once everyone has revealed what it was bound to."""
    commitments = {piece.silo: piece.data for piece in draw.commitments}
    draw.CopyFrom(pb.BeaconDraw(beacon=join_nonces(agreement, commitments, request.nonces)))
    return pb.Ready()
