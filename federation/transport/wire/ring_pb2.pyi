from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class RingTurn(_message.Message):
    __slots__ = ("advertised", "total")
    ADVERTISED_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    advertised: bytes
    total: bytes
    def __init__(self, advertised: _Optional[bytes] = ..., total: _Optional[bytes] = ...) -> None: ...
