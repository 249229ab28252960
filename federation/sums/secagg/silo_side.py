"""One silo's part: it masks its vector twice, and reveals what removes a mask only once its neighbours agree which.

Every check that protects the silo runs here, raises a typed error and ends the session.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import QuorumLost, WrongContributors
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.masked.silo_side import MaskedSilo, MaskSeed
from siloseal.federation.sums.rounds import Step, pieces, read_pieces
from siloseal.federation.sums.sealing import AgreementKey
from siloseal.federation.sums.secagg.plan import Plan, Round
from siloseal.federation.sums.secagg.shares import (
    SECRET_BYTES,
    draw_secret,
    mask_between,
    mask_sign,
    seed_digest,
    split_secret,
)
from siloseal.federation.sums.secagg.survivors import check_survivors, from_bits, sign_survivors
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import secagg_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2


class SecAggSilo(MaskedSilo):
    """One silo's side. See the module's text."""

    def __init__(
        self, session: Session, me: Identity, values: NDArray[np.int64], randomness: Randomness, plan: Plan
    ) -> None:
        super().__init__(session, me, values, randomness, plan.ring)
        self._plan = plan

    @property
    def _steps(self) -> Mapping[int, Step]:
        return {
            Round.ADVERTISE: self._advertise,
            Round.SHARE: self._share,
            Round.UPLOAD: self._upload,
            Round.CONFIRM: self._confirm,
            Round.REVEAL: self._reveal,
        }

    def _advertise(self, body: bytes) -> bytes:
        """Draw both secrets first: the public half of one is advertised."""
        self._mask_key = AgreementKey(draw_secret(self._randomness))
        self._seed = MaskSeed(draw_secret(self._randomness))
        return super()._advertise(body)

    def _share(self, body: bytes) -> bytes:
        """Give each neighbour a share of both secrets, sealed, so that t of them can stand in for this silo."""
        me, plan = self._me.name, self._plan
        keys = self._hear_keys(body, known=plan.near(me), fewest=plan.fewest_near, keys=2)
        peers = [silo for silo in plan.neighbours[me] if silo in keys]
        for peer in peers:  # a key whose mask everyone would know is refused before anything is shared
            self._own_mask_key().meet(keys[peer][1])
        holders = [silo for silo in plan.holders(me) if silo in keys]
        of_key = self._split(self._own_mask_key().private_bytes(), peers)
        of_seed = self._split(self._own_seed(), holders)
        if me in holders:
            self._memory.held.add(silo=me, data=of_seed[me])
        sealed = [
            sums_pb2.Piece(silo=peer, data=self._seal(peer, keys[peer][0], of_key[peer] + of_seed[peer]))
            for peer in peers
        ]
        digest = seed_digest(self._session, me, self._own_seed())
        return pb.SecAggShares(sealed=sealed, seed_digest=digest).SerializeToString()

    def _upload(self, body: bytes) -> bytes:
        """Mask the vector with everyone whose shares came, and with the silo's own seed; nothing else leaves of it."""
        me, session, keys = self._me.name, self._session, self._known_keys()
        sealed = read_pieces(body, known=set(keys) - {me}, fewest=self._plan.fewest_near - 1)
        for silo, one in sealed.items():
            shares = self._unseal(silo, keys[silo][0], one, size=2 * SECRET_BYTES)
            self._memory.held.add(silo=silo, data=shares)
        words, mine = self._words, self._own_mask_key()
        masks = [(mask_between(session, mine, me, silo, keys[silo][1]), mask_sign(me, silo)) for silo in sealed]
        self._ring.add_masks(words, [(self._own_seed(), 1), *masks])
        self._forget_words()
        self._channel = self._mask_key = self._seed = None
        self._memory.ClearField("advertised")
        return self._ring.pack(words)

    def _confirm(self, body: bytes) -> bytes:
        """Sign whose uploads are to be in the sum, once. Nothing is revealed yet."""
        me, plan, survivors = self._me.name, self._plan, set(from_bits(self._session, body))
        if me not in survivors:
            raise WrongContributors(f"{me} uploaded, but is said to have dropped out; it opens no sum without itself")
        sharers = {me, *(piece.silo for piece in self._memory.held)}
        if strangers := sorted((survivors & set(plan.near(me))) - sharers):
            raise WrongContributors(f"{', '.join(strangers)} are said to have uploaded, but gave {me} no shares before")
        if len(survivors) < plan.fewest:
            raise QuorumLost(f"{len(survivors)} silos are left in the sum, {plan.fewest} are needed; begin another sum")
        self._memory.survivors = body
        return sign_survivors(self._session, self._me, body)

    def _reveal(self, body: bytes) -> bytes:
        """Reveal shares of the seeds of neighbours in the sum, and of the keys of those that dropped out: never both.

        Only once t of those around this silo have signed the same survivors: what is a survivor to one of them and a
        drop-out to another would have both its secrets opened, or be left with nobody whose masks cover it.
        """
        session, bits = self._session, self._memory.survivors
        survivors = set(from_bits(session, bits))
        near, enough = set(self._plan.near(self._me.name)), self._plan.fewest_near
        signed = read_pieces(body, known=near & survivors, fewest=enough)
        for silo, signature in list(signed.items())[:enough]:  # more would add nothing
            check_survivors(session, silo, bits, signature)
        revealed = dict[str, bytes]()
        for piece in self._memory.held:
            of_key, of_seed = piece.data[:-SECRET_BYTES], piece.data[-SECRET_BYTES:]
            revealed[piece.silo] = of_seed if piece.silo in survivors else of_key
        self._drop()
        return pieces(revealed)

    def _split(self, secret: bytes, holders: list[str]) -> dict[str, bytes]:
        return split_secret(self._session, secret, holders, self._plan.threshold, self._randomness)
