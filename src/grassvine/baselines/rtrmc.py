"""RTRMC (Boumal & Absil): a centralised second-order method.

N. Boumal, P.-A. Absil: RTRMC, a Riemannian trust-region method for low-rank matrix completion
(2011). Implemented from the paper: the trust-region method of ``trust_region.py`` on the Grassmann
manifold with the exact Hessian of the problem. Two choices are not the authors': the
preconditioner, here the problem's curvature and item scales, and κ = 0.03 in the rule that stops an
inner solve (``trust_region.py``). They change the number of iterations, not the minimum: on
MovieLens-1M the cost agrees with the authors' code to 13 digits and the subspace to 1e-12, the
floor that the inner solves (``problems/_kernels.py``) set.
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
        Problem with ``hessian_product``: completion, multitask regression or PCA.
    start : array of shape (n_items, rank)
        Orthonormal basis.
    tol : float, default=1e-8
        Stop when the gradient norm has fallen to this fraction of its initial value.
    max_outer, max_inner : int, default=200
        Maximum number of trust-region iterations, and of conjugate-gradient iterations in each.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.baselines import rtrmc, spectral_start
    >>> data = gv.datasets.low_rank_ratings(30, 200, rank=2, oversampling=5.0)
    >>> result = rtrmc(gv.CompletionProblem(data.ratings), spectral_start(data.ratings, 2))
    >>> bool(gv.geometry.Grassmann().distance(result.basis, data.subspace) < 1e-4)
    True
    """
    if not isinstance(problem, TwiceDifferentiable):
        raise DataError(
            f"{type(problem).__name__} has no hessian_product, which a trust region needs; "
            "implement it, or use descend."
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
