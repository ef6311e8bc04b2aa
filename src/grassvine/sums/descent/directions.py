"""Dominant directions of residuals, by power iterations over sums.

Large residuals belong to single entries, and would pull a direction towards single items. So they
are clipped.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array
from grassvine.sums.own import Data, Own
from grassvine.sums.program import Iterate, Subprogram, all_reduce, decide

FIRST_POWERS, LATER_POWERS = 8, 6  # power iterations


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """A direction of unit length, and each agent's own part of the rest.

    ``clipped`` are the clipped residuals of its ratings, and ``product`` their products with the
    direction, one number per user.
    """

    direction: Array
    clipped: Own[Array]
    product: Own[Array]


def clipped_direction(
    ratings: Own[Ratings],
    residuals: Own[Array],
    iterate: Iterate,
    basis: Array,
    rng: Generator,
    clip: float,
) -> Subprogram[Direction]:
    """Return the dominant direction of the clipped residuals orthogonal to a basis.

    Parameters
    ----------
    residuals : Own
        The residuals of an agent's ratings.
    iterate : Iterate
        The current point; the first direction has more power iterations.
    clip : float
        The largest residual to keep, in mean absolute residuals.
    """
    sums = yield from all_reduce(
        iterate,
        lambda data: (float(np.abs(data[residuals]).sum()), float(data[ratings].n_values)),
    )
    bound = clip * float(sums[0]) / max(float(sums[1]), 1.0)

    def clipped(data: Data) -> Any:
        from scipy.sparse import csr_array  # slow to import, and only completion needs it

        own, values = data[ratings], np.clip(data[residuals], -bound, bound)
        return csr_array((values, own.items, own.starts), shape=(own.n_users, own.n_items))

    table = Own(clipped)

    def gram_product(direction: Array, data: Data) -> tuple[Array]:
        return (data[table].T @ (data[table] @ direction),)

    direction = _orthogonalised(basis, rng.standard_normal(len(basis)))
    for _ in range(LATER_POWERS if iterate.basis.shape[1] else FIRST_POWERS):
        (power,) = yield from all_reduce(iterate, partial(gram_product, direction))
        # If the residual is zero, any direction will do.
        if (yield from decide(not power.any())):
            break
        direction = _orthogonalised(basis, power)
    return Direction(
        direction,
        Own(lambda data: np.asarray(data[table].data)),
        Own(lambda data: np.asarray(data[table] @ direction)),
    )


def _orthogonalised(basis: Array, vector: Array) -> Array:
    """Return the normalised component of a vector that is orthogonal to a basis."""
    # Twice: normalising a short remainder magnifies the rounding errors of the first pass.
    for _ in range(2):
        vector = vector - basis @ (basis.T @ vector)
        vector = vector / (float(np.linalg.norm(vector)) or 1.0)
    return vector
