from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OfferRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class JobOffer(_message.Message):
    __slots__ = ("run_id", "job", "time")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    run_id: bytes
    job: str
    time: float
    def __init__(self, run_id: _Optional[bytes] = ..., job: _Optional[str] = ..., time: _Optional[float] = ...) -> None: ...

class Attendance(_message.Message):
    __slots__ = ("run_id", "instance")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    run_id: bytes
    instance: bytes
    def __init__(self, run_id: _Optional[bytes] = ..., instance: _Optional[bytes] = ...) -> None: ...

class Chunk(_message.Message):
    __slots__ = ("size", "data", "digest")
    SIZE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    size: int
    data: bytes
    digest: bytes
    def __init__(self, size: _Optional[int] = ..., data: _Optional[bytes] = ..., digest: _Optional[bytes] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StatusReport(_message.Message):
    __slots__ = ("job", "run_id", "job_digest", "phase", "request", "asked", "round", "rounds", "seconds", "silos", "notes")
    JOB_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_DIGEST_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    ASKED_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    SILOS_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    job: str
    run_id: bytes
    job_digest: bytes
    phase: str
    request: int
    asked: str
    round: int
    rounds: int
    seconds: float
    silos: _containers.RepeatedCompositeFieldContainer[SiloStatus]
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, job: _Optional[str] = ..., run_id: _Optional[bytes] = ..., job_digest: _Optional[bytes] = ..., phase: _Optional[str] = ..., request: _Optional[int] = ..., asked: _Optional[str] = ..., round: _Optional[int] = ..., rounds: _Optional[int] = ..., seconds: _Optional[float] = ..., silos: _Optional[_Iterable[_Union[SiloStatus, _Mapping]]] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...

class SiloStatus(_message.Message):
    __slots__ = ("silo", "attending", "last_seen", "answered", "sent_bytes", "received_bytes", "epsilon_spent", "trouble")
    SILO_FIELD_NUMBER: _ClassVar[int]
    ATTENDING_FIELD_NUMBER: _ClassVar[int]
    LAST_SEEN_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    SENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_BYTES_FIELD_NUMBER: _ClassVar[int]
    EPSILON_SPENT_FIELD_NUMBER: _ClassVar[int]
    TROUBLE_FIELD_NUMBER: _ClassVar[int]
    silo: str
    attending: bool
    last_seen: float
    answered: bool
    sent_bytes: int
    received_bytes: int
    epsilon_spent: float
    trouble: str
    def __init__(self, silo: _Optional[str] = ..., attending: bool = ..., last_seen: _Optional[float] = ..., answered: bool = ..., sent_bytes: _Optional[int] = ..., received_bytes: _Optional[int] = ..., epsilon_spent: _Optional[float] = ..., trouble: _Optional[str] = ...) -> None: ...

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

class Request(_message.Message):
    __slots__ = ("number", "job_digest", "run_id", "enrol", "begin", "nonces", "sketch", "train", "sum", "finish")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    JOB_DIGEST_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ENROL_FIELD_NUMBER: _ClassVar[int]
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    NONCES_FIELD_NUMBER: _ClassVar[int]
    SKETCH_FIELD_NUMBER: _ClassVar[int]
    TRAIN_FIELD_NUMBER: _ClassVar[int]
    SUM_FIELD_NUMBER: _ClassVar[int]
    FINISH_FIELD_NUMBER: _ClassVar[int]
    number: int
    job_digest: bytes
    run_id: bytes
    enrol: Enrol
    begin: Begin
    nonces: Nonces
    sketch: Sketch
    train: Train
    sum: Sum
    finish: Finish
    def __init__(self, number: _Optional[int] = ..., job_digest: _Optional[bytes] = ..., run_id: _Optional[bytes] = ..., enrol: _Optional[_Union[Enrol, _Mapping]] = ..., begin: _Optional[_Union[Begin, _Mapping]] = ..., nonces: _Optional[_Union[Nonces, _Mapping]] = ..., sketch: _Optional[_Union[Sketch, _Mapping]] = ..., train: _Optional[_Union[Train, _Mapping]] = ..., sum: _Optional[_Union[Sum, _Mapping]] = ..., finish: _Optional[_Union[Finish, _Mapping]] = ...) -> None: ...

class Enrol(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Begin(_message.Message):
    __slots__ = ("agreements", "commitments")
    AGREEMENTS_FIELD_NUMBER: _ClassVar[int]
    COMMITMENTS_FIELD_NUMBER: _ClassVar[int]
    agreements: _containers.RepeatedCompositeFieldContainer[Piece]
    commitments: _containers.RepeatedCompositeFieldContainer[Piece]
    def __init__(self, agreements: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ..., commitments: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ...) -> None: ...

class Nonces(_message.Message):
    __slots__ = ("nonces",)
    NONCES_FIELD_NUMBER: _ClassVar[int]
    nonces: _containers.RepeatedCompositeFieldContainer[Piece]
    def __init__(self, nonces: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ...) -> None: ...

class Sketch(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Train(_message.Message):
    __slots__ = ("phase", "round", "model", "clip_norm")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    CLIP_NORM_FIELD_NUMBER: _ClassVar[int]
    phase: str
    round: int
    model: Array
    clip_norm: float
    def __init__(self, phase: _Optional[str] = ..., round: _Optional[int] = ..., model: _Optional[_Union[Array, _Mapping]] = ..., clip_norm: _Optional[float] = ...) -> None: ...

class Sum(_message.Message):
    __slots__ = ("session", "message")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    session: SumSession
    message: bytes
    def __init__(self, session: _Optional[_Union[SumSession, _Mapping]] = ..., message: _Optional[bytes] = ...) -> None: ...

class Finish(_message.Message):
    __slots__ = ("model",)
    MODEL_FIELD_NUMBER: _ClassVar[int]
    model: Array
    def __init__(self, model: _Optional[_Union[Array, _Mapping]] = ...) -> None: ...

class Reply(_message.Message):
    __slots__ = ("number", "silo", "request_digest", "enrolled", "begun", "ready", "prepared", "sum", "refusal", "finished")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SILO_FIELD_NUMBER: _ClassVar[int]
    REQUEST_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ENROLLED_FIELD_NUMBER: _ClassVar[int]
    BEGUN_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    PREPARED_FIELD_NUMBER: _ClassVar[int]
    SUM_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    number: int
    silo: str
    request_digest: bytes
    enrolled: Enrolled
    begun: Begun
    ready: Ready
    prepared: Prepared
    sum: bytes
    refusal: Refusal
    finished: Finished
    def __init__(self, number: _Optional[int] = ..., silo: _Optional[str] = ..., request_digest: _Optional[bytes] = ..., enrolled: _Optional[_Union[Enrolled, _Mapping]] = ..., begun: _Optional[_Union[Begun, _Mapping]] = ..., ready: _Optional[_Union[Ready, _Mapping]] = ..., prepared: _Optional[_Union[Prepared, _Mapping]] = ..., sum: _Optional[bytes] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ..., finished: _Optional[_Union[Finished, _Mapping]] = ...) -> None: ...

class Enrolled(_message.Message):
    __slots__ = ("image_shape", "classes", "identity", "agreement", "commitment")
    IMAGE_SHAPE_FIELD_NUMBER: _ClassVar[int]
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    AGREEMENT_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    image_shape: _containers.RepeatedScalarFieldContainer[int]
    classes: int
    identity: bytes
    agreement: bytes
    commitment: bytes
    def __init__(self, image_shape: _Optional[_Iterable[int]] = ..., classes: _Optional[int] = ..., identity: _Optional[bytes] = ..., agreement: _Optional[bytes] = ..., commitment: _Optional[bytes] = ...) -> None: ...

class Begun(_message.Message):
    __slots__ = ("nonce",)
    NONCE_FIELD_NUMBER: _ClassVar[int]
    nonce: bytes
    def __init__(self, nonce: _Optional[bytes] = ...) -> None: ...

class Ready(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Prepared(_message.Message):
    __slots__ = ("stopped_by_budget", "epsilon_spent")
    STOPPED_BY_BUDGET_FIELD_NUMBER: _ClassVar[int]
    EPSILON_SPENT_FIELD_NUMBER: _ClassVar[int]
    stopped_by_budget: bool
    epsilon_spent: float
    def __init__(self, stopped_by_budget: bool = ..., epsilon_spent: _Optional[float] = ...) -> None: ...

class Finished(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("error", "message")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    error: str
    message: str
    def __init__(self, error: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class LastReply(_message.Message):
    __slots__ = ("number", "request_digest", "reply", "run_id", "session_digest", "side", "draw")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    REQUEST_DIGEST_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIDE_FIELD_NUMBER: _ClassVar[int]
    DRAW_FIELD_NUMBER: _ClassVar[int]
    number: int
    request_digest: bytes
    reply: bytes
    run_id: bytes
    session_digest: bytes
    side: bytes
    draw: BeaconDraw
    def __init__(self, number: _Optional[int] = ..., request_digest: _Optional[bytes] = ..., reply: _Optional[bytes] = ..., run_id: _Optional[bytes] = ..., session_digest: _Optional[bytes] = ..., side: _Optional[bytes] = ..., draw: _Optional[_Union[BeaconDraw, _Mapping]] = ...) -> None: ...

class BeaconDraw(_message.Message):
    __slots__ = ("nonce", "commitments", "beacon")
    NONCE_FIELD_NUMBER: _ClassVar[int]
    COMMITMENTS_FIELD_NUMBER: _ClassVar[int]
    BEACON_FIELD_NUMBER: _ClassVar[int]
    nonce: bytes
    commitments: _containers.RepeatedCompositeFieldContainer[Piece]
    beacon: bytes
    def __init__(self, nonce: _Optional[bytes] = ..., commitments: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ..., beacon: _Optional[bytes] = ...) -> None: ...

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

class CkksUpload(_message.Message):
    __slots__ = ("ciphertext", "masked_key", "signature")
    CIPHERTEXT_FIELD_NUMBER: _ClassVar[int]
    MASKED_KEY_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    ciphertext: bytes
    masked_key: bytes
    signature: bytes
    def __init__(self, ciphertext: _Optional[bytes] = ..., masked_key: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class KeyCommitment(_message.Message):
    __slots__ = ("channel_key", "commitment", "signature")
    CHANNEL_KEY_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    channel_key: bytes
    commitment: bytes
    signature: bytes
    def __init__(self, channel_key: _Optional[bytes] = ..., commitment: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class KeyShare(_message.Message):
    __slots__ = ("polynomials", "seed_digest", "signature")
    POLYNOMIALS_FIELD_NUMBER: _ClassVar[int]
    SEED_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    polynomials: bytes
    seed_digest: bytes
    signature: bytes
    def __init__(self, polynomials: _Optional[bytes] = ..., seed_digest: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class KeyReveal(_message.Message):
    __slots__ = ("share", "sealed")
    SHARE_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    share: KeyShare
    sealed: _containers.RepeatedCompositeFieldContainer[Piece]
    def __init__(self, share: _Optional[_Union[KeyShare, _Mapping]] = ..., sealed: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ...) -> None: ...

class CiphertextCommitment(_message.Message):
    __slots__ = ("c0_digest", "c1_digest", "signature")
    C0_DIGEST_FIELD_NUMBER: _ClassVar[int]
    C1_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    c0_digest: bytes
    c1_digest: bytes
    signature: bytes
    def __init__(self, c0_digest: _Optional[bytes] = ..., c1_digest: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class CiphertextUpload(_message.Message):
    __slots__ = ("c0", "c1")
    C0_FIELD_NUMBER: _ClassVar[int]
    C1_FIELD_NUMBER: _ClassVar[int]
    c0: bytes
    c1: bytes
    def __init__(self, c0: _Optional[bytes] = ..., c1: _Optional[bytes] = ...) -> None: ...

class JointKeyOpening(_message.Message):
    __slots__ = ("polynomials", "signature")
    POLYNOMIALS_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    polynomials: bytes
    signature: bytes
    def __init__(self, polynomials: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class JointKeySilence(_message.Message):
    __slots__ = ("missing", "opened")
    MISSING_FIELD_NUMBER: _ClassVar[int]
    OPENED_FIELD_NUMBER: _ClassVar[int]
    missing: _containers.RepeatedScalarFieldContainer[str]
    opened: _containers.RepeatedCompositeFieldContainer[Piece]
    def __init__(self, missing: _Optional[_Iterable[str]] = ..., opened: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ...) -> None: ...

class Advertisement(_message.Message):
    __slots__ = ("keys", "signature")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    signature: bytes
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ..., signature: _Optional[bytes] = ...) -> None: ...

class SecAggShares(_message.Message):
    __slots__ = ("sealed", "seed_digest")
    SEALED_FIELD_NUMBER: _ClassVar[int]
    SEED_DIGEST_FIELD_NUMBER: _ClassVar[int]
    sealed: _containers.RepeatedCompositeFieldContainer[Piece]
    seed_digest: bytes
    def __init__(self, sealed: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ..., seed_digest: _Optional[bytes] = ...) -> None: ...

class RingTurn(_message.Message):
    __slots__ = ("advertised", "total")
    ADVERTISED_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    advertised: bytes
    total: bytes
    def __init__(self, advertised: _Optional[bytes] = ..., total: _Optional[bytes] = ...) -> None: ...

class OneKeyHandout(_message.Message):
    __slots__ = ("public_key", "sealed")
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    public_key: bytes
    sealed: _containers.RepeatedCompositeFieldContainer[Piece]
    def __init__(self, public_key: _Optional[bytes] = ..., sealed: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ...) -> None: ...

class OneKeyLetter(_message.Message):
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

class StockCiphertexts(_message.Message):
    __slots__ = ("parts",)
    PARTS_FIELD_NUMBER: _ClassVar[int]
    parts: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, parts: _Optional[_Iterable[bytes]] = ...) -> None: ...

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
    opened: Array
    def __init__(self, answered: _Optional[int] = ..., channel_key: _Optional[bytes] = ..., advertisement: _Optional[bytes] = ..., secret_key: _Optional[bytes] = ..., opened: _Optional[_Union[Array, _Mapping]] = ...) -> None: ...

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
    advertised: _containers.RepeatedCompositeFieldContainer[Piece]
    held: _containers.RepeatedCompositeFieldContainer[Piece]
    survivors: bytes
    def __init__(self, answered: _Optional[int] = ..., channel_key: _Optional[bytes] = ..., mask_key: _Optional[bytes] = ..., seed: _Optional[bytes] = ..., advertised: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ..., held: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ..., survivors: _Optional[bytes] = ...) -> None: ...

class JointKeySiloState(_message.Message):
    __slots__ = ("round", "seed", "channel_key", "commitments", "shamir", "joint_key_digest", "ciphertext", "ciphertexts", "share", "contributors", "missing")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_KEY_FIELD_NUMBER: _ClassVar[int]
    COMMITMENTS_FIELD_NUMBER: _ClassVar[int]
    SHAMIR_FIELD_NUMBER: _ClassVar[int]
    JOINT_KEY_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CIPHERTEXT_FIELD_NUMBER: _ClassVar[int]
    CIPHERTEXTS_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTORS_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    round: int
    seed: bytes
    channel_key: bytes
    commitments: _containers.RepeatedCompositeFieldContainer[Piece]
    shamir: _containers.RepeatedCompositeFieldContainer[Piece]
    joint_key_digest: bytes
    ciphertext: CiphertextUpload
    ciphertexts: _containers.RepeatedCompositeFieldContainer[Piece]
    share: KeyShare
    contributors: _containers.RepeatedScalarFieldContainer[str]
    missing: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, round: _Optional[int] = ..., seed: _Optional[bytes] = ..., channel_key: _Optional[bytes] = ..., commitments: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ..., shamir: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ..., joint_key_digest: _Optional[bytes] = ..., ciphertext: _Optional[_Union[CiphertextUpload, _Mapping]] = ..., ciphertexts: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ..., share: _Optional[_Union[KeyShare, _Mapping]] = ..., contributors: _Optional[_Iterable[str]] = ..., missing: _Optional[_Iterable[str]] = ...) -> None: ...
