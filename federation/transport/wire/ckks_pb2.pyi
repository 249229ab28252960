from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class CkksUpload(_message.Message):
    __slots__ = ("ciphertext", "masked_key", "signature")
    CIPHERTEXT_FIELD_NUMBER: _ClassVar[int]
    MASKED_KEY_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    ciphertext: bytes
    masked_key: bytes
    signature: bytes
    def __init__(self, ciphertext: _Optional[bytes] = ..., masked_key: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...
