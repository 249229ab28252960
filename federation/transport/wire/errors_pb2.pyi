from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OTHER_ERROR: _ClassVar[ErrorCode]
    CONFIG_ERROR: _ClassVar[ErrorCode]
    DATA_ERROR: _ClassVar[ErrorCode]
    CERTIFICATE_ERROR: _ClassVar[ErrorCode]
    PROTOCOL_ERROR: _ClassVar[ErrorCode]
    MESSAGE_ERROR: _ClassVar[ErrorCode]
    MESSAGE_TOO_LARGE: _ClassVar[ErrorCode]
    SESSION_MISMATCH: _ClassVar[ErrorCode]
    WRONG_ROUND: _ClassVar[ErrorCode]
    DOMAIN_ERROR: _ClassVar[ErrorCode]
    QUORUM_LOST: _ClassVar[ErrorCode]
    SIGNATURE_INVALID: _ClassVar[ErrorCode]
    COMMITMENT_BROKEN: _ClassVar[ErrorCode]
    SEAL_BROKEN: _ClassVar[ErrorCode]
    WRONG_CONTRIBUTORS: _ClassVar[ErrorCode]
    SHARE_REUSED: _ClassVar[ErrorCode]
    UPLOAD_COPIED: _ClassVar[ErrorCode]
    OPENING_FAILED: _ClassVar[ErrorCode]
    PRIVACY_ERROR: _ClassVar[ErrorCode]
    POLICY_REFUSED: _ClassVar[ErrorCode]
    BUDGET_EXCEEDED: _ClassVar[ErrorCode]
    UNCOUNTABLE_EVENT: _ClassVar[ErrorCode]
    UNCLIPPABLE_MODULE: _ClassVar[ErrorCode]
    LEDGER_DAMAGED: _ClassVar[ErrorCode]
    AUDIT_DAMAGED: _ClassVar[ErrorCode]
    RUN_ERROR: _ClassVar[ErrorCode]
    SILO_REFUSED: _ClassVar[ErrorCode]
    CANNOT_WRITE: _ClassVar[ErrorCode]
    UNREACHABLE: _ClassVar[ErrorCode]
    VERSION_MISMATCH: _ClassVar[ErrorCode]
    CODE_MISMATCH: _ClassVar[ErrorCode]
    PROMISE_BROKEN: _ClassVar[ErrorCode]
OTHER_ERROR: ErrorCode
CONFIG_ERROR: ErrorCode
DATA_ERROR: ErrorCode
CERTIFICATE_ERROR: ErrorCode
PROTOCOL_ERROR: ErrorCode
MESSAGE_ERROR: ErrorCode
MESSAGE_TOO_LARGE: ErrorCode
SESSION_MISMATCH: ErrorCode
WRONG_ROUND: ErrorCode
DOMAIN_ERROR: ErrorCode
QUORUM_LOST: ErrorCode
SIGNATURE_INVALID: ErrorCode
COMMITMENT_BROKEN: ErrorCode
SEAL_BROKEN: ErrorCode
WRONG_CONTRIBUTORS: ErrorCode
SHARE_REUSED: ErrorCode
UPLOAD_COPIED: ErrorCode
OPENING_FAILED: ErrorCode
PRIVACY_ERROR: ErrorCode
POLICY_REFUSED: ErrorCode
BUDGET_EXCEEDED: ErrorCode
UNCOUNTABLE_EVENT: ErrorCode
UNCLIPPABLE_MODULE: ErrorCode
LEDGER_DAMAGED: ErrorCode
AUDIT_DAMAGED: ErrorCode
RUN_ERROR: ErrorCode
SILO_REFUSED: ErrorCode
CANNOT_WRITE: ErrorCode
UNREACHABLE: ErrorCode
VERSION_MISMATCH: ErrorCode
CODE_MISMATCH: ErrorCode
PROMISE_BROKEN: ErrorCode
