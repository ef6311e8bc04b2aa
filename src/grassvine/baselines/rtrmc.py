"""RTRMC (Boumal & Absil): one owner of all data, second order.

N. Boumal, P.-A. Absil: RTRMC, a Riemannian trust-region method for low-rank matrix completion
(2011). Written from the paper: the trust region of ``trust_region.py`` on the Grassmann manifold
with the exact Hessian of the problem, preconditioned by the curvature of its items.
"""

from grassvine.baselines.trust_region import BatchResult, LocalModel, trust_region
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import DataError
from grassvine.geometry import Grassmann
from grassvine.gossip.preconditioner import curvature
from grassvine.problems import LocalProblem, TwiceDifferentiable


def rtrmc(
    problem: LocalProblem,
    start: Array,
    *,
    tol: float = 1e-8,
    max_outer: int = 200,
    max_inner: int = 200,
) -> BatchResult:
    """Minimise a problem with Hessian products from a starting basis.

    Parameters
    ----------
    problem : LocalProblem
        A problem with ``hessian_product``: completion, multitask, principal components.
    start : array
        An orthonormal basis.
    tol : float
        How far the length of the gradient must fall, relative to the start.
    max_outer, max_inner : int
        How many iterations of the trust region, and of conjugate gradients in each, at most.
    """
    if not isinstance(problem, TwiceDifferentiable):
        raise DataError(
            f"{type(problem).__name__} has no hessian_product, which a trust region needs; "
            "give it one, or use descend."
        )
    second_order = problem
    geometry = Grassmann()

    def model_at(basis: Array) -> LocalModel:
        evaluation = problem.evaluate(basis)
        metric = curvature(evaluation, share=1.0, stiffness=0.0)
        return LocalModel(
            cost=evaluation.cost,
            gradient=geometry.project(basis, evaluation.gradient),
            hessian=lambda tangent: geometry.hessian(
                basis,
                evaluation.gradient,
                tangent,
                second_order.hessian_product(basis, tangent),
            ),
            precondition=lambda tangent: geometry.project(basis, metric.apply_inverse(tangent)),
        )

    with one_blas_thread():
        return trust_region(
            model_at,
            geometry,
            geometry.as_point(start, n_items=problem.n_items, name="start"),
            tol=tol,
            max_outer=max_outer,
            max_inner=max_inner,
        )
