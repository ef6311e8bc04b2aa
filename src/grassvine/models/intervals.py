"""Prediction intervals of normal distributions."""

from statistics import NormalDist

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import Option, PlanError
from grassvine.foundations.options import real_number


def normal_interval(means: Array, deviations: Array, level: object) -> tuple[Array, Array]:
    """Return the ends of the central interval that contains the share ``level``."""
    share = real_number("return_interval", level, least=0.0, below=1.0)
    if share == 0.0:
        raise PlanError(
            Option("return_interval"), " is 0; pass a share between 0 and 1, such as 0.9."
        )
    width = NormalDist().inv_cdf(0.5 + 0.5 * share) * deviations
    return means - width, means + width
