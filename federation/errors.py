"""Everything that SiloSeal refuses, as one tree.

    SiloSealError
    ├── ConfigError             a config file, a command line or an argument that cannot mean what was meant
    ├── DataError               private or public data that is missing, damaged or of the wrong shape
    ├── CodeMismatch            code or weights of the user's own that are not those that a job names
    ├── PromiseBroken           a learner of the user's own that breaks what privacy or the sums rest on
    ├── CertificateError        a certificate that is missing, expired, revoked, not yet valid or of another party
    ├── ProtocolError           a message or a state that a protocol does not allow
    │   ├── MessageError        bytes that do not decode, or decode to something out of range
    │   │   └── MessageTooLarge     a message longer than any right one can be, refused before it is read
    │   ├── VersionMismatch     a peer that speaks another version of the protocol
    │   ├── SessionMismatch     a message of another session
    │   ├── WrongRound          a message that is not the next one
    │   ├── DomainError         a contribution outside the agreed domain, or a domain that a scheme cannot carry
    │   ├── QuorumLost          fewer silos answered than the session demands
    │   ├── SignatureInvalid    a statement that its silo did not sign
    │   ├── CommitmentBroken    something else than its silo had committed to
    │   ├── SealBroken          a sealed piece that does not open, or is missing
    │   ├── WrongContributors   a list of silos that the session does not allow
    │   ├── ShareReused         a second opening with one share of a key
    │   ├── UploadCopied        an upload that another silo, or another session, has made
    │   └── OpeningFailed       ciphertexts, keys, shares or totals that do not fit together
    ├── PrivacyError
    │   ├── PolicyRefused       a job that asks for more than the silo's policy allows
    │   ├── BudgetExceeded      the release would cost more than the silo's budget has left
    │   ├── UncountableEvent    nothing here can say what a release costs
    │   ├── UnclippableModule   a network in which one unit's influence cannot be bounded
    │   └── LedgerDamaged       the ledger's file was altered, or belongs to another silo or budget
    ├── AuditDamaged            an audit log that was altered, or lost lines
    └── RunError                a run folder that cannot be used, or a run that cannot go on
        ├── SiloRefused         a silo that will not do what it was asked
        ├── CannotWrite         a full or unreachable disk, which may pass
        └── Unreachable         a party that cannot be reached, which may pass

A message says what was found, what was expected and what to do. It never holds a secret or a vector.
"""


class SiloSealError(Exception):
    """Base of every refusal: a person reads its message, and no traceback.

    >>> try:
    ...     siloseal.load_job("nowhere.yaml")
    ... except siloseal.SiloSealError as error:
    ...     print(type(error).__name__)
    ConfigError
    """


class ConfigError(SiloSealError):
    """A config file, a command line or an argument that cannot mean what was meant.

    >>> try:
    ...     siloseal.sample("runs/first", count=0)
    ... except siloseal.ConfigError as error:
    ...     print(error)
    count is 0, expected a whole number from 1 to 1,000,000; draw more in several calls
    """


class DataError(SiloSealError):
    """Data that is missing, damaged or of the wrong shape.

    >>> try:
    ...     siloseal.adapt("few-shot.safetensors", "support", "nowhere")
    ... except siloseal.DataError as error:
    ...     print(error)
    nowhere is not a folder, expected one with images, or with class folders; correct the path
    """


class CodeMismatch(SiloSealError):
    """Code or weights of the user's own with another digest than the one that a job names."""


class PromiseBroken(SiloSealError):
    """A learner of the user's own that breaks a promise which privacy or the sums rest on; nothing was charged."""


class CertificateError(SiloSealError):
    """A certificate that is missing, expired, revoked, not yet valid or of another party."""


class ProtocolError(SiloSealError):
    """A message or a state that a protocol does not allow; the session ends.

    >>> vectors = {"north": [0.5], "east": [0.25]}
    >>> try:
    ...     siloseal.sum_in_process(siloseal.secure_sum("secagg"), vectors, drop={"east": 2})
    ... except siloseal.ProtocolError as error:
    ...     print(type(error).__name__)
    QuorumLost
    """


class MessageError(ProtocolError):
    """Bytes that do not decode, or decode to something out of range."""


class MessageTooLarge(MessageError):
    """A message longer than any right one can be; it is refused before it is read, or at least before it is decoded."""


class VersionMismatch(ProtocolError):
    """A peer that speaks another version of the protocol; one side must be upgraded."""


class SessionMismatch(ProtocolError):
    """A message that belongs to another session."""


class WrongRound(ProtocolError):
    """A message that is not the next one of its session."""


class DomainError(ProtocolError):
    """A contribution outside the agreed domain, or a domain that a scheme cannot carry."""


class QuorumLost(ProtocolError):
    """Fewer silos answered than the session demands."""


class SignatureInvalid(ProtocolError):
    """A statement that the silo it names did not sign."""


class CommitmentBroken(ProtocolError):
    """Something else than its silo had committed to."""


class SealBroken(ProtocolError):
    """A sealed piece that does not open, or is missing."""


class WrongContributors(ProtocolError):
    """A list of silos that the session does not allow: a stranger, one too many, one too few, one twice."""


class ShareReused(ProtocolError):
    """A second opening with one share of a key; two answers would tell more than one sum."""


class UploadCopied(ProtocolError):
    """An upload that is not the sender's own for this session: another silo, or another session, has made it."""


class OpeningFailed(ProtocolError):
    """Ciphertexts, keys, shares or totals that do not fit together."""


class PrivacyError(SiloSealError):
    """A release that the privacy rules forbid, or a record of what was spent that cannot be trusted.

    >>> try:
    ...     siloseal.read_ledger("runs/altered", "north")
    ... except siloseal.PrivacyError as error:
    ...     print(type(error).__name__)
    LedgerDamaged
    """


class PolicyRefused(PrivacyError):
    """A job that asks for more than the silo's policy allows."""


class BudgetExceeded(PrivacyError):
    """The release would cost more than the silo's budget has left."""


class UncountableEvent(PrivacyError):
    """Nothing here can say what a release costs."""


class UnclippableModule(PrivacyError):
    """A network whose rows' gradients cannot be told apart: clipping would not bound what one unit does."""


class LedgerDamaged(PrivacyError):
    """The ledger's file was altered, or belongs to another silo or budget."""


class AuditDamaged(SiloSealError):
    """An audit log that was altered, or lost lines."""


class RunError(SiloSealError):
    """A run folder that cannot be used, or a run that cannot go on.

    >>> try:
    ...     siloseal.read_run("nowhere")
    ... except siloseal.RunError as error:
    ...     print(error)
    found no folder nowhere; give the folder that a run printed at its end
    """


class SiloRefused(RunError):
    """A silo that will not do what it was asked; its reason is in its own words."""


class CannotWrite(RunError):
    """A disk that is full or cannot be reached. It may pass: nothing is lost, and the work goes on when it can."""


class Unreachable(RunError):
    """A party that cannot be reached. It may pass: whoever dials tries again."""
