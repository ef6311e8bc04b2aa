"""What all members shall have alike after a fit, by sums: one basis, or the mean of all."""

from functools import partial

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.geometry import Grassmann
from grassvine.sums.own import Data
from grassvine.sums.program import Iterate, Subprogram, all_reduce

# A fixed number, so that nothing is decided: members that nearly agree need about five.
MEAN_STEPS = 30


def common_basis(basis: Array, number: int, iterate: Iterate) -> Subprogram[Array]:
    """Return the basis of member 0, by a sum whose other parts are zero.

    Bases of one subspace may differ in signs and rotation where members have other LAPACKs.
    """
    own = basis if number == 0 else np.zeros_like(basis)
    (first,) = yield from all_reduce(iterate, lambda _: (own,), bound=1.0)
    return first


def mean_by_sums(basis: Array, number: int, n_agents: int) -> Subprogram[Array]:
    """Iterate U ← Exp_U(1/N Σ Log_U(U_i)) from the basis of member 0."""
    geometry = Grassmann()
    mean = geometry.as_point((yield from common_basis(basis, number, Iterate(basis))))
    for _ in range(MEAN_STEPS):
        (total,) = yield from all_reduce(Iterate(mean), partial(_direction, mean, basis))
        mean = geometry.exp(mean, total / n_agents)
    return mean


def _direction(mean: Array, basis: Array, _: Data) -> tuple[Array]:
    return (Grassmann().log(mean, basis),)
