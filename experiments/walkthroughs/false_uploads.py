"""Uploads of a silo that cheats in an encrypted sum, each under the cheat's own good signature."""

import numpy as np

from siloseal.federation.sums.ckks.parameters import Parameters
from siloseal.federation.sums.ckks.uploads import sign_upload
from siloseal.federation.sums.ckks.wire import rows, to_bytes
from siloseal.federation.sums.envelope import unwrap, wrap
from siloseal.federation.sums.in_process import InProcess
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.transport.wire import ckks_pb2 as pb
from siloseal.federation.transport.wire.codec import decode

_REPLY = 2 * Round.UPLOAD + 1  # number of the message: requests are even, replies odd


def copied(parties: InProcess, cheat: str, reply: bytes) -> bytes:
    """Return another silo's upload, signed by the cheat."""
    return _signed(parties, cheat, _upload(parties, reply))


def altered(parties: InProcess, cheat: str, reply: bytes, parameters: Parameters, *, added: int | Residues) -> bytes:
    """Return the cheat's upload plus a number, or residues (primes, coefficients), on all coefficients."""
    upload = _upload(parties, reply)
    changed = np.stack(list(rows(parameters, upload.ciphertext)))
    parameters.ring.add(changed, np.broadcast_to(np.asarray(added, dtype=np.uint64), changed.shape))
    upload.ciphertext = to_bytes(parameters, changed)
    return _signed(parties, cheat, upload)


def uniform(parameters: Parameters, draws: np.random.Generator) -> Residues:
    """Return residues that look like a ciphertext's and stand for nothing, of shape (primes, coefficients)."""
    primes = parameters.ring.primes[:, None]
    return draws.integers(0, primes, (len(primes), parameters.coefficients), dtype=np.uint64)


def _upload(parties: InProcess, reply: bytes) -> pb.CkksUpload:
    return decode(pb.CkksUpload, unwrap(parties.session, round=_REPLY, data=reply))


def _signed(parties: InProcess, cheat: str, upload: pb.CkksUpload) -> bytes:
    body = sign_upload(parties.session, parties.identities[cheat], upload)
    return wrap(parties.session, round=_REPLY, body=body)
