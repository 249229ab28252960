from siloseal.federation.transport.wire import sums_pb2 as _sums_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SecAggShares(_message.Message):
    __slots__ = ("sealed", "seed_digest")
    SEALED_FIELD_NUMBER: _ClassVar[int]
    SEED_DIGEST_FIELD_NUMBER: _ClassVar[int]
    sealed: _containers.RepeatedCompositeFieldContainer[_sums_pb2.Piece]
    seed_digest: bytes
    def __init__(self, sealed: _Optional[_Iterable[_Union[_sums_pb2.Piece, _Mapping]]] = ..., seed_digest: _Optional[bytes] = ...) -> None: ...
