"""How long to wait before the next attempt to connect."""

from collections.abc import Iterator

from numpy.random import Generator

FIRST_DELAY = 0.2  # seconds
MAX_DELAY = 30.0


def delays(random: Generator) -> Iterator[float]:
    """Yield delays in seconds: uniform between nothing and a limit that doubles.

    The whole range is random ("full jitter"), so that members that lost a neighbour together do not
    come back together.
    """
    limit = FIRST_DELAY
    while True:
        yield float(random.uniform(0.0, limit))
        limit = min(2.0 * limit, MAX_DELAY)
