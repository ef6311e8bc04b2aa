import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import MessageError
from grassvine.protocol import Message, checked_message, decode, encode
from grassvine.protocol.message import WordShape

SHAPES = {"basis": (4, 2)}
LINK = {"sender": 3, "slot": 17}
ONE = np.ones(1)


def message(**changes: object) -> Message:
    return Message(3, 17, {"basis": np.arange(8.0).reshape(4, 2), **changes})  # type: ignore[dict-item]


@given(
    sender=st.integers(0, 2**31),
    slot=st.integers(0, 2**62),
    basis=arrays(
        np.float64,
        st.tuples(st.integers(1, 9), st.integers(1, 4)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    ),
)
def test_a_message_survives_the_wire_bit_by_bit(sender: int, slot: int, basis: Array) -> None:
    sent = Message(sender, slot, {"basis": basis})
    read = decode(encode(sent), {"basis": basis.shape}, sender=sender, slot=slot)
    assert (read.sender, read.slot) == (sender, slot)
    assert read.arrays["basis"].tobytes() == basis.tobytes()
    assert encode(read) == encode(sent)


def test_what_was_read_is_aligned_and_writable() -> None:
    basis = decode(encode(message()), SHAPES, **LINK).arrays["basis"]
    assert basis.flags.aligned and basis.flags.c_contiguous and basis.flags.writeable


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "the message that agent 3 sent at slot 17 has 0 bytes, not 80 plus a short header"),
        (encode(message())[:-1], "is not valid safetensors"),
        (
            encode(message()) + bytes(5000),
            "agent 3 sent at slot 17 has .* bytes, not 80",
        ),
        (b"\xff" * 100, "is not valid safetensors"),
        (encode(message(basis=np.zeros((2, 4)))), "contains basis 2×4, .*, not basis 4×2"),
        (
            encode(message(basis=np.zeros((4, 2), np.int64))),
            "'basis' .* of type int64, not float64",
        ),
        (
            encode(Message(3, 17, {"core": np.zeros((4, 2))})),
            "contains core 4×2, sender 1, slot 1, not ",
        ),
    ],
)
def test_what_is_no_such_message_is_refused(data: bytes, complaint: str) -> None:
    with pytest.raises(MessageError, match=complaint):
        decode(data, SHAPES, **LINK)


@settings(max_examples=300)
@given(st.binary(min_size=81, max_size=400))
def test_garbage_never_raises_anything_else(data: bytes) -> None:
    with pytest.raises(MessageError):
        decode(data, SHAPES, **LINK)


@settings(max_examples=300)
@given(place=st.integers(0, 10**6), value=st.integers(1, 255))
def test_a_flipped_byte_is_refused_or_changes_numbers_only(place: int, value: int) -> None:
    data = bytearray(encode(message()))
    data[place % len(data)] ^= value
    try:
        read = decode(bytes(data), SHAPES, **LINK)
    except MessageError:
        return
    assert read.arrays["basis"].shape == (4, 2) and read.arrays["basis"].dtype == np.float64
    assert (read.sender, read.slot) == (3, 17) and np.isfinite(read.arrays["basis"]).all()


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        (message(basis=np.full((4, 2), np.nan)), "'basis' in the message that agent 3 sent .* nan"),
        (message(basis=np.full((4, 2), -np.inf)), "that agent 3 sent at slot 17 contains -inf"),
        (
            Message(-1, 17, message().arrays),
            "agent 3 sent .* claims to be from agent -1 at",
        ),
        (Message(3, 16, message().arrays), "agent 3 sent at slot 17 claims .* agent 3 at slot 16"),
        (message(basis=np.zeros((4, 2), np.int64)), "of type int64, not float64"),
        (message(basis=np.zeros((2, 2))), "agent 3 sent at slot 17 contains basis 2×2, not"),
        (message(more=np.zeros(1)), "contains basis 4×2, more 1, not basis 4×2"),
    ],
)
def test_one_check_holds_for_bytes_and_for_messages(sent: Message, complaint: str) -> None:
    with pytest.raises(MessageError, match=complaint):
        checked_message(sent, SHAPES, **LINK)
    with pytest.raises(MessageError, match="that agent 3 sent at slot 17"):
        decode(encode(sent), SHAPES, **LINK)


def test_finite_numbers_are_accepted_even_if_their_squares_overflow() -> None:
    sent = message(basis=np.full((4, 2), -1e300))
    for read in (checked_message(sent, SHAPES, **LINK), decode(encode(sent), SHAPES, **LINK)):
        assert np.array_equal(read.arrays["basis"], sent.arrays["basis"])


def test_a_message_has_the_same_layout_on_every_engine() -> None:
    sent = message(basis=np.asfortranarray(np.arange(8.0).reshape(4, 2)))
    for read in (checked_message(sent, SHAPES, **LINK), decode(encode(sent), SHAPES, **LINK)):
        assert read.arrays["basis"].flags.c_contiguous
        assert np.array_equal(read.arrays["basis"], sent.arrays["basis"])


WORDS = {"sum": WordShape((5,)), "checksum": (1,)}


def words(**changes: object) -> Message:
    arrays = {"sum": np.array([0, 1, 2**53 + 1, 2**63, 2**64 - 1], np.uint64), "checksum": ONE}
    return Message(3, 17, {**arrays, **changes})  # type: ignore[dict-item]


def test_words_survive_the_wire_bit_by_bit() -> None:
    read = decode(encode(words()), WORDS, **LINK).arrays["sum"]
    assert read.dtype == np.uint64 and read.tolist() == [0, 1, 2**53 + 1, 2**63, 2**64 - 1]
    # Bits that would be a NaN are a word like others.
    read = decode(encode(words(sum=np.full(5, np.nan).view(np.uint64))), WORDS, **LINK).arrays[
        "sum"
    ]
    assert np.isnan(read.view(np.float64)).all()


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        (words(sum=np.zeros(5)), "'sum' .* is of type float64, not uint64"),
        (words(sum=np.zeros(5, np.int64)), "'sum' .* is of type int64, not uint64"),
        (words(checksum=np.zeros(1, np.uint64)), "'checksum' .* is of type uint64, not float64"),
        (words(sum=np.zeros(4, np.uint64)), "contains checksum 1, sum 4, not checksum 1, sum 5"),
        (words(checksum=np.full(1, np.nan)), "'checksum' .* contains nan"),
    ],
)
def test_words_and_floats_are_not_taken_for_each_other(sent: Message, complaint: str) -> None:
    with pytest.raises(MessageError, match=complaint):
        checked_message(sent, WORDS, **LINK)
    with pytest.raises(MessageError, match="that agent 3 sent at slot 17"):
        decode(encode(sent), WORDS, **LINK)
