"""How the C library handles the memory of messages, which come and go by the megabyte."""

import ctypes
import sys

# The numbers of the parameters in malloc.h of the GNU C library.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST_ON_HEAP = 2**25  # bytes; the library allows no more
KEPT = 2**26  # bytes


def keep_freed_memory() -> None:
    """Let this process keep freed memory for the next message.

    Otherwise the GNU C library returns it to the system with every message, and the system clears
    new pages for the next one: a quarter of the processor time of exchanging 3.2 MB. At most 64 MB
    are kept at the end of the heap. Other C libraries are left as they are.
    """
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        mallopt(M_MMAP_THRESHOLD, LARGEST_ON_HEAP)
        mallopt(M_TRIM_THRESHOLD, KEPT)
