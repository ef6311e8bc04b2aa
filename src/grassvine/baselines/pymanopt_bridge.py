"""Conversion of problems to and from Pymanopt."""

from typing import Any

from grassvine.foundations.arrays import Array
from grassvine.foundations.extras import load_extra
from grassvine.foundations.options import rank_within
from grassvine.problems import CustomProblem, LocalProblem, TwiceDifferentiable


def to_pymanopt(problem: LocalProblem, rank: int) -> Any:
    """Return a problem as a ``pymanopt.Problem`` on the Grassmann manifold.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.baselines import to_pymanopt
    >>> problem = to_pymanopt(gv.PCAProblem([[1.0, 0.0], [-1.0, 0.0]]), rank=1)
    >>> print(problem.manifold)
    Grassmann manifold Gr(2,1)
    """
    pymanopt = load_extra("pymanopt", "the bridge to Pymanopt", "bench")
    manifolds = load_extra("pymanopt.manifolds", "the bridge to Pymanopt", "bench")
    rank_within(rank, problem.n_items)
    manifold = manifolds.Grassmann(problem.n_items, rank)
    plain = pymanopt.function.numpy(manifold)
    derivatives = {"euclidean_gradient": plain(lambda basis: problem.evaluate(basis).gradient)}
    if isinstance(problem, TwiceDifferentiable):
        derivatives["euclidean_hessian"] = plain(problem.hessian_product)
    cost = plain(lambda basis: problem.evaluate(basis).cost)
    return pymanopt.Problem(manifold, cost, **derivatives)


def from_pymanopt(problem: Any, n_items: int) -> CustomProblem:
    """Return a ``pymanopt.Problem`` on the Grassmann manifold as a :class:`CustomProblem`.

    It provides no curvature, so choose a step size explicitly.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.baselines import from_pymanopt, to_pymanopt
    >>> samples = np.random.default_rng(0).normal(size=(40, 5))
    >>> problem = from_pymanopt(to_pymanopt(gv.PCAProblem(samples), rank=2), n_items=5)
    >>> problem.n_items
    5
    """

    def function(basis: Array) -> tuple[float, Array]:
        return problem.cost(basis), problem.euclidean_gradient(basis)

    return CustomProblem(n_items, function)
