from itertools import islice

import numpy as np

from grassvine.engines.peers.transport.backoff import FIRST_DELAY, MAX_DELAY, delays
from grassvine.foundations.seeds import stream


def test_delays_are_uniform_up_to_a_limit_that_doubles_and_ends() -> None:
    drawn = np.array([[*islice(delays(stream(seed, "delays")), 20)] for seed in range(2000)])
    limits = np.minimum(FIRST_DELAY * 2.0 ** np.arange(20), MAX_DELAY)
    assert (drawn >= 0).all() and (drawn <= limits).all()
    # The mean of 2000 uniform numbers is within 4 standard errors (0.0065) of a half.
    assert np.abs((drawn / limits).mean(axis=0) - 0.5).max() < 4 * 0.0065
    assert (drawn / limits > 0.95).any(axis=0).all()


def test_delays_follow_the_seed() -> None:
    def first(*names: str | int) -> list[float]:
        return [*islice(delays(stream(0, *names)), 5)]

    assert first("delays", 0, 1) == first("delays", 0, 1) != first("delays", 0, 2)
