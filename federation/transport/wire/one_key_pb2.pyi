from siloseal.federation.transport.wire import sums_pb2 as _sums_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OneKeyHandout(_message.Message):
    __slots__ = ("public_key", "sealed")
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    public_key: bytes
    sealed: _containers.RepeatedCompositeFieldContainer[_sums_pb2.Piece]
    def __init__(self, public_key: _Optional[bytes] = ..., sealed: _Optional[_Iterable[_Union[_sums_pb2.Piece, _Mapping]]] = ...) -> None: ...

class SealedKey(_message.Message):
    __slots__ = ("advertisement", "sealed")
    ADVERTISEMENT_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    advertisement: bytes
    sealed: bytes
    def __init__(self, advertisement: _Optional[bytes] = ..., sealed: _Optional[bytes] = ...) -> None: ...

class OneKeyOpening(_message.Message):
    __slots__ = ("digest", "signature")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    digest: bytes
    signature: bytes
    def __init__(self, digest: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class OneKeySiloState(_message.Message):
    __slots__ = ("answered", "channel_key", "advertisement", "secret_key", "opened")
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_KEY_FIELD_NUMBER: _ClassVar[int]
    ADVERTISEMENT_FIELD_NUMBER: _ClassVar[int]
    SECRET_KEY_FIELD_NUMBER: _ClassVar[int]
    OPENED_FIELD_NUMBER: _ClassVar[int]
    answered: int
    channel_key: bytes
    advertisement: bytes
    secret_key: bytes
    opened: _sums_pb2.Array
    def __init__(self, answered: _Optional[int] = ..., channel_key: _Optional[bytes] = ..., advertisement: _Optional[bytes] = ..., secret_key: _Optional[bytes] = ..., opened: _Optional[_Union[_sums_pb2.Array, _Mapping]] = ...) -> None: ...
