"""The laws of a problem."""

import numpy as np

from grassvine.checks.derivatives import check_gradient, check_hessian
from grassvine.checks.laws import require, require_close
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.seeds import stream
from grassvine.geometry import Grassmann
from grassvine.problems.base import LocalProblem, TwiceDifferentiable

# Cholesky solves of well-posed users; a cost that depends on the basis changes in its first digits.
TOLERANCE = 1e-8


def check_problem(problem: LocalProblem, rank: int, *, seed: int = 0) -> None:
    """Check a problem: derivatives, shapes, and that only the subspace matters, not its basis."""
    check_gradient(problem, rank, seed=seed)
    if isinstance(problem, TwiceDifferentiable):
        check_hessian(problem, rank, seed=seed)
    rng = stream(seed, "check", "problem")
    basis = Grassmann().random_point(problem.n_items, rank, rng)
    turn = np.linalg.qr(rng.standard_normal((rank, rank)))[0]
    before = basis.copy()
    with one_blas_thread():
        here = problem.evaluate(basis)
        again = problem.evaluate(basis)
        turned = problem.evaluate(np.ascontiguousarray(basis @ turn))
        weights = problem.weights(basis)
    require(np.array_equal(basis, before), "a problem leaves its input alone", "the basis changed")
    require(
        here.cost == again.cost and np.array_equal(here.gradient, again.gradient),
        "the same basis gives the same bits",
        "a second evaluation differed",
    )
    law = "replacing U by UQ changes nothing but the basis"
    require_close(turned.cost, here.cost, TOLERANCE, f"{law} (cost)")
    require_close(turned.gradient, here.gradient @ turn, TOLERANCE, f"{law} (gradient)")
    if here.gram.size:
        require_close(turned.gram, turn.T @ here.gram @ turn, TOLERANCE, f"{law} (gram)")
        require_close(
            turned.curvature, turn.T @ here.curvature @ turn, TOLERANCE, f"{law} (curvature)"
        )
        lowest = float(np.linalg.eigvalsh(here.curvature)[0])
        scale = float(np.linalg.norm(here.curvature))
        require(lowest >= -TOLERANCE * scale, "the curvature is not negative", f"{lowest:.1e}")
    if len(weights):
        require_close(weights.T @ weights, here.gram, TOLERANCE, "the gram is WᵀW")
