"""Gossip steps without neighbours: preconditioned gradient descent on one problem."""

from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.geometry import Geometry, Grassmann
from grassvine.gossip.method import Gossip
from grassvine.gossip.step import gossip_step
from grassvine.problems.base import LocalProblem


def descend(
    problem: LocalProblem, start: Array, n_updates: int, geometry: Geometry | None = None
) -> Array:
    """Take unit steps from a starting point and return the final point.

    This is the result of an agent that never communicates, or of a single owner of all the data.

    Parameters
    ----------
    problem : LocalProblem
    start : array of shape (n_items, rank)
        Starting point.
    n_updates : int
        Number of steps.
    geometry : Geometry, default=Grassmann()

    Returns
    -------
    array of shape (n_items, rank)

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.gossip import descend
    >>> data = gv.datasets.low_rank_ratings(30, 300, rank=2, oversampling=5.0)
    >>> problem = gv.CompletionProblem(data.ratings)
    >>> start = gv.geometry.Grassmann().random_point(30, 2, np.random.default_rng(0))
    >>> basis = descend(problem, start, n_updates=30)
    >>> problem.evaluate(basis).cost < 1e-3 * problem.evaluate(start).cost
    True
    """
    geometry = geometry or Grassmann()
    method = Gossip(rho=0.0)
    point = geometry.as_point(start, n_items=problem.n_items, name="start")
    with one_blas_thread():
        for update in range(n_updates):
            evaluation = problem.evaluate(point)
            move = gossip_step(geometry, method, point, evaluation, (), degree=0, slot=update)
            point = move.point
    return point
