"""Fuzz the decoder of frames guided by coverage: ``python -m tests.fuzz.coverage_guided 600``.

It needs atheris, which is no dependency of the project: ``pip install atheris``. It runs for so
many seconds, and fails at the first exception that is no ``MessageError``, at the first invalid
frame that is accepted, and if memory grows by 50 MB after the first 10,000 inputs.
"""

import resource
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["grassvine.engines.peers.transport.wire"]):
    from grassvine.engines.peers.transport.wire import decode, encode
from tests.engines.peers.frame_samples import invalid
from tests.fuzz.frames import SAMPLES

from grassvine.foundations.errors import MessageError

WARM_UP = 10_000
MAX_GROWTH = 50.0  # megabytes

counts = {"inputs": 0, "accepted": 0}
warm = 0.0


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def decode_one(data: bytes) -> None:
    global warm
    counts["inputs"] += 1
    try:
        frame = decode(data)
    except MessageError:
        pass
    else:
        counts["accepted"] += 1
        assert invalid(frame) is None, frame
    if counts["inputs"] == WARM_UP:
        warm = peak_megabytes()
    if counts["inputs"] > WARM_UP and counts["inputs"] % 10_000 == 0:
        growth = peak_megabytes() - warm
        sys.stderr.write(f"{counts}, {growth:.1f} MB more than after {WARM_UP} inputs\n")
        assert growth < MAX_GROWTH, f"memory has grown by {growth:.0f} MB"


def main(seconds: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number, frame in enumerate(SAMPLES):
            (Path(folder) / str(number)).write_bytes(encode(frame))
        options = [f"-max_total_time={seconds}", "-max_len=4096", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], folder, *options], decode_one)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
