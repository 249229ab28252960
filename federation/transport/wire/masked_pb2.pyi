from siloseal.federation.transport.wire import sums_pb2 as _sums_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Advertisement(_message.Message):
    __slots__ = ("keys", "signature")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    signature: bytes
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ..., signature: _Optional[bytes] = ...) -> None: ...

class MaskedSiloState(_message.Message):
    __slots__ = ("answered", "channel_key", "mask_key", "seed", "advertised", "held", "survivors")
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_KEY_FIELD_NUMBER: _ClassVar[int]
    MASK_KEY_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    ADVERTISED_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    SURVIVORS_FIELD_NUMBER: _ClassVar[int]
    answered: int
    channel_key: bytes
    mask_key: bytes
    seed: bytes
    advertised: _containers.RepeatedCompositeFieldContainer[_sums_pb2.Piece]
    held: _containers.RepeatedCompositeFieldContainer[_sums_pb2.Piece]
    survivors: bytes
    def __init__(self, answered: _Optional[int] = ..., channel_key: _Optional[bytes] = ..., mask_key: _Optional[bytes] = ..., seed: _Optional[bytes] = ..., advertised: _Optional[_Iterable[_Union[_sums_pb2.Piece, _Mapping]]] = ..., held: _Optional[_Iterable[_Union[_sums_pb2.Piece, _Mapping]]] = ..., survivors: _Optional[bytes] = ...) -> None: ...
