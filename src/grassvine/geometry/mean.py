"""The Fréchet mean: the point whose squared distances to given points have the least sum."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import ConvergenceWarning

if TYPE_CHECKING:
    from grassvine.geometry.base import Geometry

SETTLED = 1e-12
MOST_STEPS = 200


def frechet_mean(geometry: "Geometry", points: Sequence[Array], start: Array) -> Array:
    """Walk along the mean of the logs until it vanishes: U ← Exp_U(1/N Σ Log_U(U_i)).

    The iteration contracts where the points lie in a ball of radius π/4; if it has not
    converged after many steps, a :class:`ConvergenceWarning` is issued and the last point returned.
    """
    mean = start
    for _ in range(MOST_STEPS):
        pull = sum((geometry.log(mean, point) for point in points), np.zeros_like(mean))
        pull /= len(points)
        if (length := float(np.linalg.norm(pull))) <= SETTLED:
            return mean
        mean = geometry.exp(mean, pull)
    warnings.warn(
        f"the Fréchet mean of {len(points)} points did not settle in {MOST_STEPS} steps "
        f"(last step {length:.1e}); the points lie too far apart to have one clear mean: "
        "let the agents agree better first.",
        ConvergenceWarning,
        stacklevel=3,
    )
    return mean
