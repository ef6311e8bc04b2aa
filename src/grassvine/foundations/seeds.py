"""Named, independent random streams.

All random numbers are drawn from ``stream(seed, *names)``. Streams of different names are
independent for the same seed, so a starting point can never repeat the numbers that made the data.
"""

import hashlib

import numpy as np
from numpy.random import Generator

from grassvine.foundations.options import whole_number


def stream(seed: int, *names: str | int) -> Generator:
    """Return the random generator that belongs to a seed and a name.

    Parameters
    ----------
    seed : int
        A non-negative number chosen by the user.
    *names : str or int
        What the numbers are for, such as ``"start", 3``. Names are part of the stream's identity:
        ``("start", 3)`` and ``("start", "3")`` differ.
    """
    whole_number("seed", seed, least=0)
    plain = tuple(name if isinstance(name, str) else int(name) for name in names)
    words = np.frombuffer(hashlib.sha256(repr(plain).encode()).digest(), dtype="<u4")
    return np.random.default_rng([seed, *words.tolist()])
