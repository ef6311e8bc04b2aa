"""Valid frames for hypothesis, and a second opinion on what the decoder accepts."""

import math

from hypothesis import strategies as st

from grassvine.engines.peers.member.frames import (
    MAX_CHUNK,
    MAX_TEXT,
    PLAIN,
    PROTOCOL_VERSION,
    Ack,
    Data,
    Frame,
    Hello,
    Refusal,
    Status,
)

SLOTS = st.integers(0, 2**53 - 1)
MEMBERS = st.integers(0, 2**16 - 1)
DIGESTS = st.binary(min_size=32, max_size=32)
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1)


@st.composite
def _data(draw: st.DrawFn) -> Data:
    body = draw(st.binary(min_size=1, max_size=300))
    offset = draw(st.integers(0, 2**53 - 1 - len(body)))
    size = draw(st.integers(offset + len(body), 2**53 - 1))
    return Data(draw(SLOTS), size, offset, body, PLAIN)


DATA = _data()
FRAMES: st.SearchStrategy[Frame] = st.one_of(
    st.builds(
        Hello,
        version=st.just(PROTOCOL_VERSION),
        member=MEMBERS,
        plan=DIGESTS,
        digests=st.dictionaries(TEXTS.filter(lambda key: len(key) <= 200), DIGESTS, max_size=5),
        signature=st.binary(max_size=100),
        received=SLOTS,
        finished=st.booleans(),
    ),
    DATA,
    st.builds(Ack, SLOTS, st.booleans()),
    st.builds(
        Status,
        SLOTS,
        st.booleans(),
        st.lists(MEMBERS, max_size=5).map(tuple),
        st.floats(0, 2**53 - 1),
    ),
    st.builds(Refusal, TEXTS.filter(lambda reason: len(reason) <= MAX_TEXT)),
)


def invalid(frame: Frame) -> str | None:
    """Return what is invalid about a frame that was accepted, if anything."""
    match frame:
        case Hello():
            integers, short = [frame.received, frame.member], frame.member < 2**16
            lengths = [len(frame.plan), *map(len, frame.digests.values())]
            good = short and set(lengths) == {32} and len(frame.signature) <= 1024
            good = good and all(0 < len(key) <= 200 for key in frame.digests)
            good = good and 0 <= frame.version < 2**32 and len(frame.digests) <= 4096
        case Data(slot, size, offset, body, encoding):
            integers = [slot, size, offset]
            good = encoding == PLAIN and 0 < len(body) <= MAX_CHUNK and offset + len(body) <= size
        case Ack(received, _):
            integers, good = [received], True
        case Status(slot, _, waiting_for, clock):
            integers = [slot, *waiting_for]
            good = all(one < 2**16 for one in waiting_for)
            good = good and math.isfinite(clock) and 0 <= clock < 2**53
        case Refusal(reason):
            integers, good = [], 0 < len(reason) <= MAX_TEXT
    return None if good and all(0 <= one < 2**53 for one in integers) else f"{frame}"[:300]
