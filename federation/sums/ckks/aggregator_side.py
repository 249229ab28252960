"""The aggregator's part: it adds ciphertexts, and gets, by SecAgg, the key of their sum and no other.

That key holds the key shares of the silos on the one list that all agreed on in SecAgg.
"""

import numpy as np

from siloseal.federation.errors import UploadCopied
from siloseal.federation.sums.ckks.encryption import open_sum
from siloseal.federation.sums.ckks.setting import Setting
from siloseal.federation.sums.ckks.uploads import Fingerprints, fingerprints, require_new, require_own
from siloseal.federation.sums.ckks.wire import rows
from siloseal.federation.sums.rlwe.values import to_total
from siloseal.federation.sums.rounds import Bodies
from siloseal.federation.sums.secagg.aggregator_side import SecAggAggregator
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.transport.wire import ckks_pb2 as pb
from siloseal.federation.transport.wire.codec import decode

_SIGNED_BYTES = 128
"""Number of bytes that suffice for a signature and the framing of what it signs."""


class CkksAggregator(SecAggAggregator):
    """The aggregator's side. See the module's text."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting.session, setting.plan)
        self._parameters, self._precision_bits = setting.parameters, setting.precision_bits
        self._seen = dict[str, Fingerprints]()  # of what each silo uploaded
        self._ciphertexts = np.zeros((len(self._parameters.prime_bits), self._parameters.coefficients), dtype=np.uint64)

    def _largest(self, number: int) -> int:
        encrypted = self._parameters.ciphertext_bytes + _SIGNED_BYTES if number == Round.UPLOAD else 0
        return super()._largest(number) + encrypted

    def _check(self, number: int, silo: str, body: bytes) -> None:
        if number != Round.UPLOAD:
            super()._check(number, silo, body)
            return
        upload = self._own_upload(silo, body)
        super()._check(number, silo, upload.masked_key)
        for _ in rows(self._parameters, upload.ciphertext):
            pass  # each is checked as it comes
        self._compare(silo, upload)  # what is right only, so that nonsense keeps nobody out

    def _own_upload(self, silo: str, body: bytes) -> pb.CkksUpload:
        upload = decode(pb.CkksUpload, body)
        require_own(self._session, silo, upload)
        return upload

    def _compare(self, silo: str, upload: pb.CkksUpload) -> None:
        """Refuse what another silo has uploaded. Of two that come at once, in two threads, one at least is refused.

        That is why an upload is written down first, and compared then.
        """
        before, mine = self._seen.get(silo), fingerprints(upload)
        self._seen[silo] = mine
        try:
            require_new(silo, mine, self._seen.copy())
        except UploadCopied:
            del self._seen[silo]
            if before is not None:
                self._seen[silo] = before
            raise

    def _add_upload(self, silo: str, body: bytes) -> None:
        upload = self._own_upload(silo, body)
        self._compare(silo, upload)
        super()._add_upload(silo, upload.masked_key)
        primes = self._parameters.ring.primes
        for total, row, prime in zip(self._ciphertexts, rows(self._parameters, upload.ciphertext), primes, strict=True):
            total += row
            np.minimum(total, total - prime, out=total)

    def _unmask(self, replies: Bodies) -> Sum:
        """Compute the key of the sum, then the sum."""
        half, count = 2 ** (self._parameters.key_bits - 1), len(self._survivors)
        reduced = self._plan.ring.values(self._unmasked(replies))
        key = (reduced + half) % (2 * half) - half  # its entries are small, and of either sign
        values = open_sum(self._session, self._parameters, self._ciphertexts, key, count)
        total, error_bound = to_total(self._session.domain, values, count, self._precision_bits)
        return Sum(total, self._survivors, error_bound)
