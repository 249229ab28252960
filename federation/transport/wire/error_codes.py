"""Errors on the wire: which code stands for which error of the tree.

A code that a newer peer sent and nobody knows here reads as the base of the tree.
"""

from siloseal.federation import errors
from siloseal.federation.transport.wire.errors_pb2 import ErrorCode

CODES: dict[type[errors.SiloSealError], ErrorCode] = {
    errors.SiloSealError: ErrorCode.OTHER_ERROR,
    errors.ConfigError: ErrorCode.CONFIG_ERROR,
    errors.DataError: ErrorCode.DATA_ERROR,
    errors.CodeMismatch: ErrorCode.CODE_MISMATCH,
    errors.PromiseBroken: ErrorCode.PROMISE_BROKEN,
    errors.CertificateError: ErrorCode.CERTIFICATE_ERROR,
    errors.ProtocolError: ErrorCode.PROTOCOL_ERROR,
    errors.MessageError: ErrorCode.MESSAGE_ERROR,
    errors.MessageTooLarge: ErrorCode.MESSAGE_TOO_LARGE,
    errors.VersionMismatch: ErrorCode.VERSION_MISMATCH,
    errors.SessionMismatch: ErrorCode.SESSION_MISMATCH,
    errors.WrongRound: ErrorCode.WRONG_ROUND,
    errors.DomainError: ErrorCode.DOMAIN_ERROR,
    errors.QuorumLost: ErrorCode.QUORUM_LOST,
    errors.SignatureInvalid: ErrorCode.SIGNATURE_INVALID,
    errors.CommitmentBroken: ErrorCode.COMMITMENT_BROKEN,
    errors.SealBroken: ErrorCode.SEAL_BROKEN,
    errors.WrongContributors: ErrorCode.WRONG_CONTRIBUTORS,
    errors.ShareReused: ErrorCode.SHARE_REUSED,
    errors.UploadCopied: ErrorCode.UPLOAD_COPIED,
    errors.OpeningFailed: ErrorCode.OPENING_FAILED,
    errors.PrivacyError: ErrorCode.PRIVACY_ERROR,
    errors.PolicyRefused: ErrorCode.POLICY_REFUSED,
    errors.BudgetExceeded: ErrorCode.BUDGET_EXCEEDED,
    errors.UncountableEvent: ErrorCode.UNCOUNTABLE_EVENT,
    errors.UnclippableModule: ErrorCode.UNCLIPPABLE_MODULE,
    errors.LedgerDamaged: ErrorCode.LEDGER_DAMAGED,
    errors.AuditDamaged: ErrorCode.AUDIT_DAMAGED,
    errors.RunError: ErrorCode.RUN_ERROR,
    errors.SiloRefused: ErrorCode.SILO_REFUSED,
    errors.CannotWrite: ErrorCode.CANNOT_WRITE,
    errors.Unreachable: ErrorCode.UNREACHABLE,
}


def code_of(error: Exception) -> ErrorCode:
    """The code of an error, or of the nearest one above it; `OTHER_ERROR` for a bug, which is none of the tree."""
    return next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), ErrorCode.OTHER_ERROR)


def error_of(code: int) -> type[errors.SiloSealError]:
    """The error that a code stands for."""
    return next((error for error, known in CODES.items() if known == code), errors.SiloSealError)
