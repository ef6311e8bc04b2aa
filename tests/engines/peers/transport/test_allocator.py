"""Memory of messages stays with the process instead of being cleared anew for each."""

import subprocess
import sys

import pytest

# Prints how many pages were new to the process per message, after ten messages.
PROGRAM = """
from resource import RUSAGE_SELF, getrusage
from grassvine.engines.peers.transport.allocator import keep_freed_memory
if {keep}: keep_freed_memory()
for count in range(60):
    if count == 10: before = getrusage(RUSAGE_SELF).ru_minflt
    one, other = b"x" * 3_200_000, b"y" * 3_200_000
    del one, other
print((getrusage(RUSAGE_SELF).ru_minflt - before) / 50)
"""


def new_pages(keep: bool) -> float:
    program = [sys.executable, "-c", PROGRAM.format(keep=keep)]
    return float(subprocess.run(program, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="mallopt is a function of the GNU C library")
def test_a_message_takes_the_memory_of_the_one_before() -> None:
    """Without this, some C libraries return all of it after each message: 1563 pages."""
    if new_pages(keep=False) < 100:
        pytest.skip("this C library keeps freed memory by itself")
    assert new_pages(keep=True) < 10
