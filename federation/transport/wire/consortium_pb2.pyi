from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OfferRequest(_message.Message):
    __slots__ = ("protocol_version",)
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    protocol_version: int
    def __init__(self, protocol_version: _Optional[int] = ...) -> None: ...

class JobOffer(_message.Message):
    __slots__ = ("run_id", "job", "time", "protocol_version")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    run_id: bytes
    job: str
    time: float
    protocol_version: int
    def __init__(self, run_id: _Optional[bytes] = ..., job: _Optional[str] = ..., time: _Optional[float] = ..., protocol_version: _Optional[int] = ...) -> None: ...

class Attendance(_message.Message):
    __slots__ = ("run_id", "instance", "protocol_version")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    run_id: bytes
    instance: bytes
    protocol_version: int
    def __init__(self, run_id: _Optional[bytes] = ..., instance: _Optional[bytes] = ..., protocol_version: _Optional[int] = ...) -> None: ...

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
    __slots__ = ("protocol_version",)
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    protocol_version: int
    def __init__(self, protocol_version: _Optional[int] = ...) -> None: ...

class StatusReport(_message.Message):
    __slots__ = ("job", "run_id", "job_digest", "phase", "request", "asked", "round", "rounds", "seconds", "silos", "notes", "protocol_version")
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
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
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
    protocol_version: int
    def __init__(self, job: _Optional[str] = ..., run_id: _Optional[bytes] = ..., job_digest: _Optional[bytes] = ..., phase: _Optional[str] = ..., request: _Optional[int] = ..., asked: _Optional[str] = ..., round: _Optional[int] = ..., rounds: _Optional[int] = ..., seconds: _Optional[float] = ..., silos: _Optional[_Iterable[_Union[SiloStatus, _Mapping]]] = ..., notes: _Optional[_Iterable[str]] = ..., protocol_version: _Optional[int] = ...) -> None: ...

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
