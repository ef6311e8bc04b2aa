import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.peers.frame_samples import DATA, FRAMES, invalid

from grassvine.engines.peers.member.frames import (
    MAX_CHUNK,
    MAX_FRAME,
    MAX_TEXT,
    PROTOCOL_VERSION,
    Ack,
    Data,
    Frame,
    Hello,
    Refusal,
    Status,
)
from grassvine.engines.peers.transport import wire
from grassvine.engines.peers.transport.frames_pb2 import Data as DataMessage
from grassvine.engines.peers.transport.frames_pb2 import Frame as FrameMessage
from grassvine.engines.peers.transport.frames_pb2 import Hello as HelloMessage
from grassvine.engines.peers.transport.wire import decode, encode
from grassvine.foundations.errors import MessageError

PLAN = bytes(range(32))
LARGEST = 2**53 - 1


@given(FRAMES)
@settings(max_examples=300)
def test_a_frame_survives_the_way(frame: Frame) -> None:
    assert invalid(frame) is None
    assert decode(encode(frame)) == frame


@given(FRAMES, FRAMES, st.data())
@settings(max_examples=200)
def test_a_frame_that_was_cut_or_continued_is_refused(
    frame: Frame, other: Frame, data: st.DataObject
) -> None:
    whole = encode(frame)
    place = data.draw(st.integers(0, len(whole) - 1))
    for changed in (whole[:place], whole + whole, whole + encode(other)):
        with pytest.raises(MessageError):
            decode(changed)


@given(DATA)
def test_the_encoding_is_that_of_the_library(frame: Data) -> None:
    """The decoder takes it from there; only the order of the fields differs."""
    message = DataMessage(
        slot=frame.slot,
        size=frame.size,
        offset=frame.offset,
        body=bytes(frame.body),
        encoding=frame.encoding,
    )
    by_library = FrameMessage(data=message).SerializeToString()
    assert FrameMessage.FromString(encode(frame)).SerializeToString() == by_library
    assert len(encode(frame)) == len(by_library)
    assert decode(by_library) == frame


def test_the_largest_part_fits_into_a_frame() -> None:
    frame = Data(LARGEST, LARGEST, LARGEST - MAX_CHUNK, bytes(MAX_CHUNK))
    assert len(encode(frame)) <= MAX_FRAME
    assert decode(encode(frame)) == frame


def test_the_greeting_of_another_version_says_only_its_version() -> None:
    hello = HelloMessage(version=PROTOCOL_VERSION + 1, member=2**30, plan=b"short")
    later = FrameMessage(hello=hello).SerializeToString() + b"\xfa\x01\x03abc"  # field 31
    assert decode(later) == Hello(PROTOCOL_VERSION + 1, 0, bytes(32))


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (Hello(PROTOCOL_VERSION, 2**16, PLAN), "the number of a member is 65536, but must be"),
        (Hello(PROTOCOL_VERSION, 0, PLAN[1:]), "the digest of the plan in a greeting has 31 bytes"),
        (Hello(PROTOCOL_VERSION, 0, PLAN, {"seed": b""}), "the digest of 'seed' in a greeting has"),
        (Hello(PROTOCOL_VERSION, 0, PLAN, {"": PLAN}), "a key of 0 characters, not 1 to 200"),
        (Hello(PROTOCOL_VERSION, 0, PLAN, {"k" * 201: PLAN}), "a key of 201 characters"),
        (
            Hello(PROTOCOL_VERSION, 0, PLAN, {str(n): PLAN for n in range(4097)}),
            "the number of digests of a greeting is 4097",
        ),
        (Hello(PROTOCOL_VERSION, 0, PLAN, {}, bytes(1025)), "the length of a signature is 1025"),
        (Hello(PROTOCOL_VERSION, 0, PLAN, received=2**53), "the slot of a greeting is 90071992547"),
        (Data(2**53, 1, 0, b"a"), "the slot of a message is 9007199254740992, but must be below"),
        (Data(0, 2**53, 0, b"a"), "the size of a message is 9007199254740992, but must be below"),
        (Data(0, 2**63, 0, b"a"), "the size of a message is 9223372036854775808, but must be"),
        (Data(0, 3, 2**63, b"a"), "the offset of a part is 9223372036854775808, but must be"),
        (Data(0, LARGEST, 0, bytes(MAX_CHUNK + 1)), "not 1 to 524288"),
        (Data(0, 3, 2, b"ab"), "a part of a message ends at byte 4, but the message has 3."),
        (Data(0, 3, 0, b"a", 7), "the unknown encoding 7"),
        (Ack(2**64 - 1), "the slot of an acknowledgement is 18446744073709551615"),
        (Status(2**53, False), "the slot of a status is"),
        (Status(0, False, (1, 2**16)), "the number of a member is 65536"),
        (Status(0, False, (0,) * 2**16), "the number of members waited for is 65536"),
        (Status(0, False, (), math.nan), "the clock of a status shows nan"),
        (Status(0, False, (), math.inf), "the clock of a status shows inf"),
        (Status(0, False, (), -1.0), "the clock of a status shows -1"),
        (Refusal(""), "a refusal has 0 characters"),
        (Refusal("x" * (MAX_TEXT + 1)), "a refusal has 1001 characters"),
    ],
)
def test_values_out_of_range_are_refused(frame: Frame, sentence: str) -> None:
    assert invalid(frame) is not None or "members waited for" in sentence
    with pytest.raises(MessageError, match=sentence):
        decode(encode(frame))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "empty or of an unknown kind"),
        (b"\x32\x00", "empty or of an unknown kind"),  # field 6
        (encode(Ack(1)) + b"\x32\x00", "unknown or repeated fields"),
        (encode(Ack(1)) + encode(Ack(2)), "unknown or repeated fields"),
        (encode(Ack(1)) + encode(Refusal("no")), "unknown or repeated fields"),
        (b"\x1a\x04\x08\x05\x48\x01", "unknown or repeated fields"),  # in the acknowledgement
        (b"\x1a\x03\x08\x85\x00", "unknown or repeated fields"),  # the number 5, in two bytes
        (b"\x1a\x02\x08\x00", "unknown or repeated fields"),  # what is 0 is left out
        (b"\x12\x02\x10\x03", "a part of a message has 0 bytes, not 1 to"),
        (encode(Data(0, 3, 0, b"")), "unknown or repeated fields"),  # what is empty is left out
        (b"\x2a\x04\x0a\x02\xff\xfe", "not a valid protocol buffer"),  # not UTF-8
        (b"\x12\x0c\x22" + b"\x80" * 9 + b"\x01a", "not a valid protocol buffer"),  # 2^63 bytes
        (b"\x12" + b"\xff" * 9 + b"\x01", "not a valid protocol buffer"),  # 2^64 - 1 bytes
        (b"\xff", "not a valid protocol buffer"),
        (b"a" * (MAX_FRAME + 1), f"a frame has {MAX_FRAME + 1} bytes; at most {MAX_FRAME}"),
    ],
)
def test_other_bytes_are_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(MessageError, match=sentence):
        decode(data)


@pytest.mark.parametrize("slot", [0, 1, 2**31 - 1, 2**31, 2**31 + 1, LARGEST])
def test_slots_up_to_the_largest_are_accepted(slot: int) -> None:
    assert decode(encode(Ack(slot))) == Ack(slot)


@pytest.mark.parametrize("slot", [2**53, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1])
def test_larger_slots_are_refused(slot: int) -> None:
    with pytest.raises(MessageError, match=f"acknowledgement is {slot}, but must be below {2**53}"):
        decode(encode(Ack(slot)))


def test_the_generated_code_is_that_of_the_definition(tmp_path: Path) -> None:
    protoc = pytest.importorskip("grpc_tools.protoc")
    source = Path(wire.__file__).with_name("frames.proto")
    root = source.parents[4]
    found = tmp_path / source.relative_to(root).with_name("frames_pb2.py")
    arguments = ["protoc", f"-I{root}", f"--python_out={tmp_path}", str(source)]
    assert protoc.main(arguments) == 0
    generated, committed = found.read_text(), source.with_name("frames_pb2.py").read_text()
    # Another generator may write other code; what it says of the frames is the same.
    assert _descriptor(generated) == _descriptor(committed)


def _descriptor(code: str) -> str:
    return next(line for line in code.splitlines() if "AddSerializedFile" in line)
