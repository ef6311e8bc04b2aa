"""The random state of estimators."""

from typing import TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from grassvine.foundations.options import whole_number

# A random seed; None draws a new one at each fit.
RandomState: TypeAlias = int | np.random.RandomState | None


def as_seed(random_state: RandomState) -> int:
    """Return the random seed of a fit; None draws a new one at each fit."""
    if isinstance(random_state, int) and not isinstance(random_state, bool):
        return whole_number("random_state", random_state, least=0)
    return int(check_random_state(random_state).randint(2**31 - 1))
