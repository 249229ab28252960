"""One silo's part: SecAgg's, over its key share, and beside the masked share the vector encrypted under it.

Nothing that the silo says depends on anybody's ciphertext: whatever the others upload, and whatever the aggregator
makes of it, it answers the same bytes. Every check that protects the silo is SecAgg's, and runs here.
"""

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import WrongRound
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.ckks.encryption import KeyShare
from siloseal.federation.sums.ckks.setting import Setting
from siloseal.federation.sums.ckks.uploads import sign_upload
from siloseal.federation.sums.rlwe.values import to_values
from siloseal.federation.sums.secagg.silo_side import SecAggSilo
from siloseal.federation.sums.session import Vector
from siloseal.federation.transport.wire import ckks_pb2 as pb


class CkksSilo(SecAggSilo):
    """One silo's side. The key share lives until the upload: a silo that is restored before it draws another."""

    def __init__(self, setting: Setting, me: Identity, contribution: Vector, randomness: Randomness) -> None:
        session, parameters = setting.session, setting.parameters
        values = to_values(session.domain, session.domain.check(contribution), setting.precision_bits)
        self._values: NDArray[np.integer] = values.astype(np.min_scalar_type(parameters.largest), copy=False)
        self._key_share: KeyShare | None = KeyShare.draw(parameters, randomness)
        super().__init__(session, me, self._key_share.reduced(parameters.key_bits), randomness, setting.plan)
        self._parameters = parameters

    def _drop(self) -> None:
        super()._drop()
        self._values, self._key_share = np.zeros(0, dtype=np.int64), None

    def _upload(self, body: bytes) -> bytes:
        """Encrypt under the share and mask the share. Neither stays."""
        masked_key = super()._upload(body)
        share, self._key_share = self._key_share, None
        if share is None:
            raise WrongRound("this silo's key share is gone; the session cannot go on with it")
        ciphertext = share.encrypt(self._session, self._parameters, self._values, self._randomness)
        self._values = np.zeros(0, dtype=np.int64)
        return sign_upload(self._session, self._me, pb.CkksUpload(ciphertext=ciphertext, masked_key=masked_key))
