from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Hello(_message.Message):
    __slots__ = ("version", "member", "plan", "digests", "signature", "received", "finished")
    class DigestsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    version: int
    member: int
    plan: bytes
    digests: _containers.ScalarMap[str, bytes]
    signature: bytes
    received: int
    finished: bool
    def __init__(self, version: _Optional[int] = ..., member: _Optional[int] = ..., plan: _Optional[bytes] = ..., digests: _Optional[_Mapping[str, bytes]] = ..., signature: _Optional[bytes] = ..., received: _Optional[int] = ..., finished: _Optional[bool] = ...) -> None: ...

class Data(_message.Message):
    __slots__ = ("slot", "size", "offset", "body", "encoding")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    slot: int
    size: int
    offset: int
    body: bytes
    encoding: int
    def __init__(self, slot: _Optional[int] = ..., size: _Optional[int] = ..., offset: _Optional[int] = ..., body: _Optional[bytes] = ..., encoding: _Optional[int] = ...) -> None: ...

class Ack(_message.Message):
    __slots__ = ("received", "finished")
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    received: int
    finished: bool
    def __init__(self, received: _Optional[int] = ..., finished: _Optional[bool] = ...) -> None: ...

class Status(_message.Message):
    __slots__ = ("slot", "finished", "waiting_for", "clock")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    WAITING_FOR_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    slot: int
    finished: bool
    waiting_for: _containers.RepeatedScalarFieldContainer[int]
    clock: float
    def __init__(self, slot: _Optional[int] = ..., finished: _Optional[bool] = ..., waiting_for: _Optional[_Iterable[int]] = ..., clock: _Optional[float] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class Frame(_message.Message):
    __slots__ = ("hello", "data", "ack", "status", "refusal")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    data: Data
    ack: Ack
    status: Status
    refusal: Refusal
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., data: _Optional[_Union[Data, _Mapping]] = ..., ack: _Optional[_Union[Ack, _Mapping]] = ..., status: _Optional[_Union[Status, _Mapping]] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ...) -> None: ...
