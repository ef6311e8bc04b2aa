"""Named, independent random streams.

All random numbers are drawn from ``stream(seed, *names)``. Streams with the same seed and different
names are independent, so a random starting point never reuses the numbers that generated the data.
"""

import hashlib

import numpy as np
from numpy.random import Generator

from grassvine.foundations.options import whole_number


def stream(seed: int, *names: str | int) -> Generator:
    """Return the random generator for a seed and a name.

    Parameters
    ----------
    seed : int
        Non-negative random seed.
    *names : str or int
        Name of the stream, such as ``"start", 3``. Types matter: ``("start", 3)`` and
        ``("start", "3")`` are different streams.
    """
    whole_number("seed", seed, least=0)
    plain = tuple(name if isinstance(name, str) else int(name) for name in names)
    words = np.frombuffer(hashlib.sha256(repr(plain).encode()).digest(), dtype="<u4")
    return np.random.default_rng([seed, *words.tolist()])
