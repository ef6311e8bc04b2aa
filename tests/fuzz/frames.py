"""Mutated frames of peers."""

from collections.abc import Callable, Iterator
from random import Random

from tests.engines.peers.frame_samples import invalid
from tests.fuzz.mutations import mutated_bytes
from tests.fuzz.outcome import Outcome, tried

from grassvine.engines.peers.member.frames import Ack, Data, Frame, Hello, Refusal, Status
from grassvine.engines.peers.transport.frames_pb2 import Ack as AckMessage
from grassvine.engines.peers.transport.frames_pb2 import Data as DataMessage
from grassvine.engines.peers.transport.frames_pb2 import Frame as FrameMessage
from grassvine.engines.peers.transport.frames_pb2 import Hello as HelloMessage
from grassvine.engines.peers.transport.frames_pb2 import Refusal as RefusalMessage
from grassvine.engines.peers.transport.frames_pb2 import Status as StatusMessage
from grassvine.engines.peers.transport.wire import decode, encode

COUNT = 100_000
DIGEST = bytes(range(32))
SAMPLES: tuple[Frame, ...] = (
    Hello(1, 2, DIGEST, {"seed": DIGEST, "network": DIGEST}, b"signature", 17, True),
    Data(5, 300, 100, bytes(range(200))),
    Ack(17, True),
    Status(17, False, (1, 3, 300), 1.7e9),
    Refusal("the plans of a and b differ in seed."),
)
NUMBERS = (0, 1, 2, 2**16 - 1, 2**16, 2**31 - 1, 2**31 + 1, 2**32 - 1)
LONG_NUMBERS = (*NUMBERS, 2**53 - 1, 2**53, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1)
TIMES = (0.0, 1.7e9, -1.0, 2.0**53, 1e308, float("nan"), float("inf"), -float("inf"))


def fuzz(count: int, seed: int = 0) -> Outcome:
    """Decode mutants of frames, generated frames, and bytes at random."""
    return tried(_mutants(count, Random(f"frames {seed}")))


def _mutants(count: int, rng: Random) -> Iterator[tuple[str, Callable[[], str | None]]]:
    samples = [encode(frame) for frame in SAMPLES]
    for number in range(count):
        kind = rng.random()
        if kind < 0.5:
            data = mutated_bytes(rng, rng.choice(samples))
        elif kind < 0.9:
            data = _generated(rng)
        elif kind < 0.95:
            data = b"".join(rng.choices(samples, k=rng.randrange(4)))
        else:
            data = rng.randbytes(rng.randrange(60))
        yield f"frame {number}", lambda data=data: invalid(decode(data))  # type: ignore[misc]


def _generated(rng: Random) -> bytes:
    """Return a well-formed frame with any values."""
    kind = rng.randrange(5)
    number, long = rng.choice, LONG_NUMBERS
    if kind == 0:
        keys = (
            rng.choice(("", "seed", "k" * 200, "k" * 201, "é")) for _ in range(rng.randrange(3))
        )
        digests = {key: rng.randbytes(rng.choice((32, 32, 32, 0, 31))) for key in keys}
        hello = HelloMessage(
            version=rng.choice((1, 1, 1, 0, 2, 2**32 - 1)),
            member=number(NUMBERS),
            plan=rng.randbytes(rng.choice((32, 32, 32, 0, 33))),
            digests=digests,
            signature=rng.randbytes(rng.choice((0, 70, 1024, 1025))),
            received=number(long),
            finished=rng.random() < 0.5,
        )
        return bytes(FrameMessage(hello=hello).SerializeToString())
    if kind == 1:
        body = rng.randbytes(rng.choice((0, 1, 50, 2**19, 2**19 + 1)))
        offset = rng.choice((0, 0, 1, *long))
        size = rng.choice((len(body) + offset, *long)) % 2**64
        encoding = rng.choice((0, 0, 0, 1, 2**32 - 1))
        data = DataMessage(
            slot=number(long), size=size, offset=offset, body=body, encoding=encoding
        )
        return bytes(FrameMessage(data=data).SerializeToString())
    if kind == 2:
        return bytes(FrameMessage(ack=AckMessage(received=number(long))).SerializeToString())
    if kind == 3:
        waiting_for = rng.choices(NUMBERS, k=rng.choice((0, 1, 5, 2**16)))
        status = StatusMessage(slot=number(long), waiting_for=waiting_for, clock=rng.choice(TIMES))
        return bytes(FrameMessage(status=status).SerializeToString())
    reason = rng.choice(("", "no", "\x1b[2J", "é" * 1000, "é" * 1001))
    return bytes(FrameMessage(refusal=RefusalMessage(reason=reason)).SerializeToString())
