"""Everything that SiloSeal refuses, as one tree.

    SiloSealError
    ├── ConfigError             a config file or a command line that cannot mean what was meant
    ├── DataError               private or public data that is missing, damaged or of the wrong shape
    ├── ProtocolError           a message or a state that a protocol does not allow
    │   ├── MessageError        bytes that do not decode, or decode to something out of range
    │   ├── SessionMismatch     a message of another session
    │   ├── WrongRound          a message that is not the next one
    │   ├── DomainError         a contribution outside the agreed domain, or a domain that a scheme cannot carry
    │   └── QuorumLost          fewer silos answered than the session demands
    ├── PrivacyError
    │   ├── BudgetExceeded      the release would cost more than the silo's budget has left
    │   ├── UncountableEvent    nothing here can say what a release costs
    │   ├── UnclippableModule   a network in which one unit's influence cannot be bounded
    │   └── LedgerDamaged       the ledger's file was altered, or belongs to another silo or budget
    └── RunError                a run folder that cannot be used, or a run that cannot go on

A message says what was found, what was expected and what to do. It never holds a secret or a vector.
"""


class SiloSealError(Exception):
    """Base of every refusal: a person reads its message, and no traceback."""


class ConfigError(SiloSealError):
    """A config file or a command line that cannot mean what was meant."""


class DataError(SiloSealError):
    """Data that is missing, damaged or of the wrong shape."""


class ProtocolError(SiloSealError):
    """A message or a state that a protocol does not allow; the session ends."""


class MessageError(ProtocolError):
    """Bytes that do not decode, or decode to something out of range."""


class SessionMismatch(ProtocolError):
    """A message that belongs to another session."""


class WrongRound(ProtocolError):
    """A message that is not the next one of its session."""


class DomainError(ProtocolError):
    """A contribution outside the agreed domain, or a domain that a scheme cannot carry."""


class QuorumLost(ProtocolError):
    """Fewer silos answered than the session demands."""


class PrivacyError(SiloSealError):
    """A release that the privacy rules forbid."""


class BudgetExceeded(PrivacyError):
    """The release would cost more than the silo's budget has left."""


class UncountableEvent(PrivacyError):
    """Nothing here can say what a release costs."""


class UnclippableModule(PrivacyError):
    """A network whose rows' gradients cannot be told apart: clipping would not bound what one unit does."""


class LedgerDamaged(PrivacyError):
    """The ledger's file was altered, or belongs to another silo or budget."""


class RunError(SiloSealError):
    """A run folder that cannot be used, or a run that cannot go on."""
