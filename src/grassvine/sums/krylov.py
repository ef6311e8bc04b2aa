r"""Principal components over sums: the leading eigenspace of C = ΣC_i from a block Krylov space.

All agents store the same orthonormal Q, which grows by one block per sum, and CQ:

.. math::

    CQ &= Σ\,X_iᵀX_iQ, \qquad QᵀCQ = VΘVᵀ, \qquad U = QV_r \\
    R &= CU − UΘ_r, \qquad Q ← \mathrm{orth}[Q\ R]

U is the best basis within span Q, and −R is the Riemannian gradient there. Orthogonal iteration
uses the last block only; the whole Krylov space needs about the square root of its number of sums,
and at most m/r, when it spans ℝᵐ. A sum has m·r numbers. The distance of U from the eigenspace is
at most about ‖R‖/(θ_r − θ_{r+1}); the iteration stops when R is at rounding level.
"""

from functools import partial

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.problems.base import Eigenproblem
from grassvine.sums.program import Iterate, Program, ProgramOutcome, all_reduce

# Q is restarted with its best blocks, to bound memory and the cost of orthogonalisation.
MAX_BLOCKS, KEPT_BLOCKS = 30, 3


def leading_directions(problem: Eigenproblem, start: Array, max_iter: int) -> Program:
    """Compute the leading eigenspace of the samples of all agents."""
    n_items, rank = start.shape
    block, iterate = start, Iterate(start)
    space = images = np.zeros((n_items, 0))
    reason = f"reached the limit of {max_iter} sums"
    for _ in range(max_iter):
        (image,) = yield from all_reduce(iterate, partial(_image, problem, block))
        space, images = np.column_stack([space, block]), np.column_stack([images, image])
        inner = space.T @ images
        values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
        values, vectors = values[::-1], vectors[:, ::-1]  # the largest first
        best = vectors[:, :rank]
        basis = np.ascontiguousarray(space @ best)
        residual = images @ best - basis * values[:rank]
        norm = float(np.linalg.norm(residual))
        iterate = Iterate(basis, -0.5 * float(values[:rank].sum()), norm)
        if norm <= _rounding(start) * values[0] or space.shape[1] == n_items:
            reason = "the gradient is zero up to rounding"
            break
        if space.shape[1] >= MAX_BLOCKS * rank:
            kept = vectors[:, : KEPT_BLOCKS * rank]
            space, images = space @ kept, images @ kept
        # Orthogonalise jointly: a nearly zero residual must not add a direction of the space again.
        both = np.linalg.qr(np.column_stack([space, residual]))[0]
        block = np.ascontiguousarray(both[:, space.shape[1] :])
    return ProgramOutcome(iterate, reason)


def _image(problem: Eigenproblem, block: Array) -> tuple[Array]:
    return (problem.matrix_product(block),)


def _rounding(start: Array) -> float:
    """Return the attainable ‖R‖/‖C‖, with a safety factor of ten."""
    return 10.0 * float(np.finfo(float).eps) * float(np.sqrt(start.size))
