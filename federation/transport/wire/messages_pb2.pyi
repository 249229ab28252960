from siloseal.federation.transport.wire import errors_pb2 as _errors_pb2
from siloseal.federation.transport.wire import sums_pb2 as _sums_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Request(_message.Message):
    __slots__ = ("number", "job_digest", "run_id", "protocol_version", "enrol", "begin", "nonces", "kernel_mean", "train", "query", "average", "sum", "finish")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    JOB_DIGEST_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    ENROL_FIELD_NUMBER: _ClassVar[int]
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    NONCES_FIELD_NUMBER: _ClassVar[int]
    KERNEL_MEAN_FIELD_NUMBER: _ClassVar[int]
    TRAIN_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    AVERAGE_FIELD_NUMBER: _ClassVar[int]
    SUM_FIELD_NUMBER: _ClassVar[int]
    FINISH_FIELD_NUMBER: _ClassVar[int]
    number: int
    job_digest: bytes
    run_id: bytes
    protocol_version: int
    enrol: Enrol
    begin: Begin
    nonces: Nonces
    kernel_mean: KernelMean
    train: Train
    query: Query
    average: Average
    sum: Sum
    finish: Finish
    def __init__(self, number: _Optional[int] = ..., job_digest: _Optional[bytes] = ..., run_id: _Optional[bytes] = ..., protocol_version: _Optional[int] = ..., enrol: _Optional[_Union[Enrol, _Mapping]] = ..., begin: _Optional[_Union[Begin, _Mapping]] = ..., nonces: _Optional[_Union[Nonces, _Mapping]] = ..., kernel_mean: _Optional[_Union[KernelMean, _Mapping]] = ..., train: _Optional[_Union[Train, _Mapping]] = ..., query: _Optional[_Union[Query, _Mapping]] = ..., average: _Optional[_Union[Average, _Mapping]] = ..., sum: _Optional[_Union[Sum, _Mapping]] = ..., finish: _Optional[_Union[Finish, _Mapping]] = ...) -> None: ...

class Enrol(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Begin(_message.Message):
    __slots__ = ("agreements", "commitments")
    AGREEMENTS_FIELD_NUMBER: _ClassVar[int]
    COMMITMENTS_FIELD_NUMBER: _ClassVar[int]
    agreements: _containers.RepeatedCompositeFieldContainer[_sums_pb2.Piece]
    commitments: _containers.RepeatedCompositeFieldContainer[_sums_pb2.Piece]
    def __init__(self, agreements: _Optional[_Iterable[_Union[_sums_pb2.Piece, _Mapping]]] = ..., commitments: _Optional[_Iterable[_Union[_sums_pb2.Piece, _Mapping]]] = ...) -> None: ...

class Nonces(_message.Message):
    __slots__ = ("nonces",)
    NONCES_FIELD_NUMBER: _ClassVar[int]
    nonces: _containers.RepeatedCompositeFieldContainer[_sums_pb2.Piece]
    def __init__(self, nonces: _Optional[_Iterable[_Union[_sums_pb2.Piece, _Mapping]]] = ...) -> None: ...

class KernelMean(_message.Message):
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
    model: _sums_pb2.Array
    clip_norm: float
    def __init__(self, phase: _Optional[str] = ..., round: _Optional[int] = ..., model: _Optional[_Union[_sums_pb2.Array, _Mapping]] = ..., clip_norm: _Optional[float] = ...) -> None: ...

class Query(_message.Message):
    __slots__ = ("number", "totals")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TOTALS_FIELD_NUMBER: _ClassVar[int]
    number: int
    totals: _containers.RepeatedCompositeFieldContainer[Total]
    def __init__(self, number: _Optional[int] = ..., totals: _Optional[_Iterable[_Union[Total, _Mapping]]] = ...) -> None: ...

class Total(_message.Message):
    __slots__ = ("values", "spread")
    VALUES_FIELD_NUMBER: _ClassVar[int]
    SPREAD_FIELD_NUMBER: _ClassVar[int]
    values: _sums_pb2.Array
    spread: float
    def __init__(self, values: _Optional[_Union[_sums_pb2.Array, _Mapping]] = ..., spread: _Optional[float] = ...) -> None: ...

class Average(_message.Message):
    __slots__ = ("round", "last")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    round: int
    last: Mean
    def __init__(self, round: _Optional[int] = ..., last: _Optional[_Union[Mean, _Mapping]] = ...) -> None: ...

class Mean(_message.Message):
    __slots__ = ("round", "values", "contributors", "error_bound")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTORS_FIELD_NUMBER: _ClassVar[int]
    ERROR_BOUND_FIELD_NUMBER: _ClassVar[int]
    round: int
    values: _sums_pb2.Array
    contributors: _containers.RepeatedScalarFieldContainer[str]
    error_bound: float
    def __init__(self, round: _Optional[int] = ..., values: _Optional[_Union[_sums_pb2.Array, _Mapping]] = ..., contributors: _Optional[_Iterable[str]] = ..., error_bound: _Optional[float] = ...) -> None: ...

class Sum(_message.Message):
    __slots__ = ("session", "message")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    session: _sums_pb2.SumSession
    message: bytes
    def __init__(self, session: _Optional[_Union[_sums_pb2.SumSession, _Mapping]] = ..., message: _Optional[bytes] = ...) -> None: ...

class Finish(_message.Message):
    __slots__ = ("model", "last", "words")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    model: _sums_pb2.Array
    last: Mean
    words: str
    def __init__(self, model: _Optional[_Union[_sums_pb2.Array, _Mapping]] = ..., last: _Optional[_Union[Mean, _Mapping]] = ..., words: _Optional[str] = ...) -> None: ...

class Reply(_message.Message):
    __slots__ = ("number", "silo", "request_digest", "protocol_version", "enrolled", "begun", "ready", "prepared", "sum", "refusal", "finished")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SILO_FIELD_NUMBER: _ClassVar[int]
    REQUEST_DIGEST_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
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
    protocol_version: int
    enrolled: Enrolled
    begun: Begun
    ready: Ready
    prepared: Prepared
    sum: bytes
    refusal: Refusal
    finished: Finished
    def __init__(self, number: _Optional[int] = ..., silo: _Optional[str] = ..., request_digest: _Optional[bytes] = ..., protocol_version: _Optional[int] = ..., enrolled: _Optional[_Union[Enrolled, _Mapping]] = ..., begun: _Optional[_Union[Begun, _Mapping]] = ..., ready: _Optional[_Union[Ready, _Mapping]] = ..., prepared: _Optional[_Union[Prepared, _Mapping]] = ..., sum: _Optional[bytes] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ..., finished: _Optional[_Union[Finished, _Mapping]] = ...) -> None: ...

class Enrolled(_message.Message):
    __slots__ = ("shape", "classes", "identity", "agreement", "commitment")
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    AGREEMENT_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    classes: int
    identity: bytes
    agreement: bytes
    commitment: bytes
    def __init__(self, shape: _Optional[_Iterable[int]] = ..., classes: _Optional[int] = ..., identity: _Optional[bytes] = ..., agreement: _Optional[bytes] = ..., commitment: _Optional[bytes] = ...) -> None: ...

class Begun(_message.Message):
    __slots__ = ("nonce",)
    NONCE_FIELD_NUMBER: _ClassVar[int]
    nonce: bytes
    def __init__(self, nonce: _Optional[bytes] = ...) -> None: ...

class Ready(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Prepared(_message.Message):
    __slots__ = ("stopped_by_budget", "epsilon_spent", "structure", "leaves")
    STOPPED_BY_BUDGET_FIELD_NUMBER: _ClassVar[int]
    EPSILON_SPENT_FIELD_NUMBER: _ClassVar[int]
    STRUCTURE_FIELD_NUMBER: _ClassVar[int]
    LEAVES_FIELD_NUMBER: _ClassVar[int]
    stopped_by_budget: bool
    epsilon_spent: float
    structure: Structure
    leaves: bool
    def __init__(self, stopped_by_budget: bool = ..., epsilon_spent: _Optional[float] = ..., structure: _Optional[_Union[Structure, _Mapping]] = ..., leaves: bool = ...) -> None: ...

class Structure(_message.Message):
    __slots__ = ("digest", "length", "words")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    digest: bytes
    length: int
    words: str
    def __init__(self, digest: _Optional[bytes] = ..., length: _Optional[int] = ..., words: _Optional[str] = ...) -> None: ...

class Finished(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("code", "message")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    code: _errors_pb2.ErrorCode
    message: str
    def __init__(self, code: _Optional[_Union[_errors_pb2.ErrorCode, str]] = ..., message: _Optional[str] = ...) -> None: ...

class LastReply(_message.Message):
    __slots__ = ("number", "request_digest", "reply", "run_id", "session_digest", "side", "draw", "protocol_version")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    REQUEST_DIGEST_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIDE_FIELD_NUMBER: _ClassVar[int]
    DRAW_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    number: int
    request_digest: bytes
    reply: bytes
    run_id: bytes
    session_digest: bytes
    side: bytes
    draw: BeaconDraw
    protocol_version: int
    def __init__(self, number: _Optional[int] = ..., request_digest: _Optional[bytes] = ..., reply: _Optional[bytes] = ..., run_id: _Optional[bytes] = ..., session_digest: _Optional[bytes] = ..., side: _Optional[bytes] = ..., draw: _Optional[_Union[BeaconDraw, _Mapping]] = ..., protocol_version: _Optional[int] = ...) -> None: ...

class BeaconDraw(_message.Message):
    __slots__ = ("nonce", "commitments", "beacon")
    NONCE_FIELD_NUMBER: _ClassVar[int]
    COMMITMENTS_FIELD_NUMBER: _ClassVar[int]
    BEACON_FIELD_NUMBER: _ClassVar[int]
    nonce: bytes
    commitments: _containers.RepeatedCompositeFieldContainer[_sums_pb2.Piece]
    beacon: bytes
    def __init__(self, nonce: _Optional[bytes] = ..., commitments: _Optional[_Iterable[_Union[_sums_pb2.Piece, _Mapping]]] = ..., beacon: _Optional[bytes] = ...) -> None: ...
