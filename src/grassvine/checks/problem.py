"""Check of a problem."""

import numpy as np

from grassvine.checks.assertions import require, require_close, require_double
from grassvine.checks.derivatives import check_gradient, check_hessian
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.seeds import stream
from grassvine.geometry import Grassmann
from grassvine.problems.base import LocalProblem, TwiceDifferentiable

# Well above the errors of Cholesky solves; a cost that depends on the basis changes much more.
TOLERANCE = 1e-8


def check_problem(problem: LocalProblem, rank: int, *, seed: int = 0) -> None:
    """Check the derivatives of a problem and its invariance under a change of basis.

    Parameters
    ----------
    problem : LocalProblem
    rank : int
        Rank of the random basis.
    seed : int, default=0
        Random seed.

    Raises
    ------
    CheckFailed

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> gv.checks.check_problem(gv.PCAProblem(np.eye(6)[:4]), rank=2)
    >>> wrong = gv.CustomProblem(6, lambda U: (float(np.sum(U[0] ** 2)), U))
    >>> try:
    ...     gv.checks.check_problem(wrong, rank=2)
    ... except gv.CheckFailed as failure:
    ...     print(str(failure).split(":")[0])
    the gradient must be the derivative of the cost
    """
    check_gradient(problem, rank, seed=seed)
    if isinstance(problem, TwiceDifferentiable):
        check_hessian(problem, rank, seed=seed)
    rng = stream(seed, "check", "problem")
    basis = Grassmann().random_point(problem.n_items, rank, rng)
    rotation = np.linalg.qr(rng.standard_normal((rank, rank)))[0]
    before = basis.copy()
    with one_blas_thread():
        here = problem.evaluate(basis)
        again = problem.evaluate(basis)
        rotated = problem.evaluate(np.ascontiguousarray(basis @ rotation))
        weights = problem.weights(basis)
    require(
        np.array_equal(basis, before), "a problem must not modify its input", "the basis changed"
    )
    require(
        here.cost == again.cost and np.array_equal(here.gradient, again.gradient),
        "repeated evaluations must be bitwise equal",
        "a second evaluation differed",
    )
    require_double(here.gradient, "gradient")
    requirement = "replacing U by UQ must only rotate the result"
    require_close(rotated.cost, here.cost, TOLERANCE, f"{requirement} (cost)")
    require_close(
        rotated.gradient, here.gradient @ rotation, TOLERANCE, f"{requirement} (gradient)"
    )
    if here.gram.size:
        require_close(
            rotated.gram, rotation.T @ here.gram @ rotation, TOLERANCE, f"{requirement} (gram)"
        )
        require_close(
            rotated.curvature,
            rotation.T @ here.curvature @ rotation,
            TOLERANCE,
            f"{requirement} (curvature)",
        )
        lowest = float(np.linalg.eigvalsh(here.curvature)[0])
        scale = float(np.linalg.norm(here.curvature))
        require(
            lowest >= -TOLERANCE * scale,
            "the curvature must be positive semidefinite",
            f"its lowest eigenvalue is {lowest:.1e}",
        )
    if len(weights):
        require_close(weights.T @ weights, here.gram, TOLERANCE, "gram must be WᵀW")
