"""The Fréchet mean: the point that minimises the sum of squared distances to given points."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import ConvergenceWarning

if TYPE_CHECKING:
    from grassvine.geometry.base import Geometry

SETTLED = 1e-12
MAX_STEPS = 200


def frechet_mean(geometry: "Geometry", points: Sequence[Array], start: Array) -> Array:
    """Iterate U ← Exp_U(1/N Σ Log_U(U_i)) until the step vanishes.

    The iteration is a contraction if the points lie in a ball of radius π/4. If it does not
    converge, a :class:`ConvergenceWarning` is issued and the last iterate returned.
    """
    mean = start
    for _ in range(MAX_STEPS):
        step = sum((geometry.log(mean, point) for point in points), np.zeros_like(mean))
        step /= len(points)
        if (length := float(np.linalg.norm(step))) <= SETTLED:
            return mean
        mean = geometry.exp(mean, step)
    warnings.warn(
        f"the Fréchet mean of {len(points)} points did not converge in {MAX_STEPS} steps "
        f"(last step {length:.1e}); the points are too far apart for a unique mean; run more "
        "iterations so that the agents agree better.",
        ConvergenceWarning,
        stacklevel=3,
    )
    return mean
