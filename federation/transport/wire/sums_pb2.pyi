from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Array(_message.Message):
    __slots__ = ("dtype", "shape", "data")
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    dtype: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    data: bytes
    def __init__(self, dtype: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., data: _Optional[bytes] = ...) -> None: ...

class SumMessage(_message.Message):
    __slots__ = ("session_digest", "round", "body")
    SESSION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    session_digest: bytes
    round: int
    body: bytes
    def __init__(self, session_digest: _Optional[bytes] = ..., round: _Optional[int] = ..., body: _Optional[bytes] = ...) -> None: ...

class SumSession(_message.Message):
    __slots__ = ("id", "roster", "real", "integer", "scheme", "quorum", "identities", "start")
    ID_FIELD_NUMBER: _ClassVar[int]
    ROSTER_FIELD_NUMBER: _ClassVar[int]
    REAL_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    SCHEME_FIELD_NUMBER: _ClassVar[int]
    QUORUM_FIELD_NUMBER: _ClassVar[int]
    IDENTITIES_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    id: bytes
    roster: _containers.RepeatedScalarFieldContainer[str]
    real: RealDomain
    integer: IntegerDomain
    scheme: str
    quorum: int
    identities: _containers.RepeatedScalarFieldContainer[bytes]
    start: bytes
    def __init__(self, id: _Optional[bytes] = ..., roster: _Optional[_Iterable[str]] = ..., real: _Optional[_Union[RealDomain, _Mapping]] = ..., integer: _Optional[_Union[IntegerDomain, _Mapping]] = ..., scheme: _Optional[str] = ..., quorum: _Optional[int] = ..., identities: _Optional[_Iterable[bytes]] = ..., start: _Optional[bytes] = ...) -> None: ...

class RealDomain(_message.Message):
    __slots__ = ("length", "bound")
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    length: int
    bound: float
    def __init__(self, length: _Optional[int] = ..., bound: _Optional[float] = ...) -> None: ...

class IntegerDomain(_message.Message):
    __slots__ = ("length", "modulus")
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    MODULUS_FIELD_NUMBER: _ClassVar[int]
    length: int
    modulus: int
    def __init__(self, length: _Optional[int] = ..., modulus: _Optional[int] = ...) -> None: ...

class Piece(_message.Message):
    __slots__ = ("silo", "data")
    SILO_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    silo: str
    data: bytes
    def __init__(self, silo: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class Pieces(_message.Message):
    __slots__ = ("pieces",)
    PIECES_FIELD_NUMBER: _ClassVar[int]
    pieces: _containers.RepeatedCompositeFieldContainer[Piece]
    def __init__(self, pieces: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ...) -> None: ...
