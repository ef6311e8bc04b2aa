"""The common model after gossip: the Fréchet mean of all members' bases, by sums."""

from functools import partial

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.geometry import Grassmann
from grassvine.sums.program import Iterate, Subprogram, all_reduce

# A fixed number, so that nothing is decided: members that nearly agree need about five.
MEAN_STEPS = 30


def mean_by_sums(basis: Array, number: int, n_agents: int) -> Subprogram[Array]:
    """Iterate U ← Exp_U(1/N Σ Log_U(U_i)) from the basis of member 0.

    The first sum has a single part that is not zero, which tells that basis to all.
    """
    geometry, own = Grassmann(), basis if number == 0 else np.zeros_like(basis)
    (first,) = yield from all_reduce(Iterate(basis), lambda: (own,))
    mean = geometry.as_point(first)
    for _ in range(MEAN_STEPS):
        (total,) = yield from all_reduce(Iterate(mean), partial(_direction, mean, basis))
        mean = geometry.exp(mean, total / n_agents)
    return mean


def _direction(mean: Array, basis: Array) -> tuple[Array]:
    return (Grassmann().log(mean, basis),)
