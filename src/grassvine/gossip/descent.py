"""An agent alone: the gossip step without neighbours, which is a preconditioned descent."""

from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.geometry import Geometry, Grassmann
from grassvine.gossip.method import Gossip
from grassvine.gossip.step import gossip_step
from grassvine.problems.base import LocalProblem


def descend(
    problem: LocalProblem, start: Array, n_updates: int, geometry: Geometry | None = None
) -> Array:
    """Return where ``n_updates`` unit steps lead from a starting point.

    It is what an agent reaches that talks to nobody, and what one owner of all data reaches.
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
