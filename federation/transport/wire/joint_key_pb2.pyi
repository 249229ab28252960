from siloseal.federation.transport.wire import sums_pb2 as _sums_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class KeyCommitment(_message.Message):
    __slots__ = ("channel_key", "commitment", "signature")
    CHANNEL_KEY_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    channel_key: bytes
    commitment: bytes
    signature: bytes
    def __init__(self, channel_key: _Optional[bytes] = ..., commitment: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class KeyShare(_message.Message):
    __slots__ = ("polynomials", "seed_digest", "signature")
    POLYNOMIALS_FIELD_NUMBER: _ClassVar[int]
    SEED_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    polynomials: bytes
    seed_digest: bytes
    signature: bytes
    def __init__(self, polynomials: _Optional[bytes] = ..., seed_digest: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class KeyReveal(_message.Message):
    __slots__ = ("share", "sealed")
    SHARE_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    share: KeyShare
    sealed: _containers.RepeatedCompositeFieldContainer[_sums_pb2.Piece]
    def __init__(self, share: _Optional[_Union[KeyShare, _Mapping]] = ..., sealed: _Optional[_Iterable[_Union[_sums_pb2.Piece, _Mapping]]] = ...) -> None: ...

class CiphertextCommitment(_message.Message):
    __slots__ = ("c0_digest", "c1_digest", "signature")
    C0_DIGEST_FIELD_NUMBER: _ClassVar[int]
    C1_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    c0_digest: bytes
    c1_digest: bytes
    signature: bytes
    def __init__(self, c0_digest: _Optional[bytes] = ..., c1_digest: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class CiphertextUpload(_message.Message):
    __slots__ = ("c0", "c1")
    C0_FIELD_NUMBER: _ClassVar[int]
    C1_FIELD_NUMBER: _ClassVar[int]
    c0: bytes
    c1: bytes
    def __init__(self, c0: _Optional[bytes] = ..., c1: _Optional[bytes] = ...) -> None: ...

class JointKeyOpening(_message.Message):
    __slots__ = ("polynomials", "signature")
    POLYNOMIALS_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    polynomials: bytes
    signature: bytes
    def __init__(self, polynomials: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class JointKeySilence(_message.Message):
    __slots__ = ("missing", "opened")
    MISSING_FIELD_NUMBER: _ClassVar[int]
    OPENED_FIELD_NUMBER: _ClassVar[int]
    missing: _containers.RepeatedScalarFieldContainer[str]
    opened: _containers.RepeatedCompositeFieldContainer[_sums_pb2.Piece]
    def __init__(self, missing: _Optional[_Iterable[str]] = ..., opened: _Optional[_Iterable[_Union[_sums_pb2.Piece, _Mapping]]] = ...) -> None: ...

class JointKeySiloState(_message.Message):
    __slots__ = ("round", "seed", "channel_key", "commitments", "shamir", "joint_key_digest", "ciphertext", "ciphertexts", "share", "contributors", "missing")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_KEY_FIELD_NUMBER: _ClassVar[int]
    COMMITMENTS_FIELD_NUMBER: _ClassVar[int]
    SHAMIR_FIELD_NUMBER: _ClassVar[int]
    JOINT_KEY_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CIPHERTEXT_FIELD_NUMBER: _ClassVar[int]
    CIPHERTEXTS_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTORS_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    round: int
    seed: bytes
    channel_key: bytes
    commitments: _containers.RepeatedCompositeFieldContainer[_sums_pb2.Piece]
    shamir: _containers.RepeatedCompositeFieldContainer[_sums_pb2.Piece]
    joint_key_digest: bytes
    ciphertext: CiphertextUpload
    ciphertexts: _containers.RepeatedCompositeFieldContainer[_sums_pb2.Piece]
    share: KeyShare
    contributors: _containers.RepeatedScalarFieldContainer[str]
    missing: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, round: _Optional[int] = ..., seed: _Optional[bytes] = ..., channel_key: _Optional[bytes] = ..., commitments: _Optional[_Iterable[_Union[_sums_pb2.Piece, _Mapping]]] = ..., shamir: _Optional[_Iterable[_Union[_sums_pb2.Piece, _Mapping]]] = ..., joint_key_digest: _Optional[bytes] = ..., ciphertext: _Optional[_Union[CiphertextUpload, _Mapping]] = ..., ciphertexts: _Optional[_Iterable[_Union[_sums_pb2.Piece, _Mapping]]] = ..., share: _Optional[_Union[KeyShare, _Mapping]] = ..., contributors: _Optional[_Iterable[str]] = ..., missing: _Optional[_Iterable[str]] = ...) -> None: ...
