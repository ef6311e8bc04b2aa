r"""Principal components over sums: the leading eigenspace of C = ΣC_i, with C_i = X_iᵀX_i.

Of two algorithms, the one that sends less is used:

- One sum of C itself: its lower triangle, m(m+1)/2 numbers.
- A block Krylov space (``krylov.py``): a sum of C·V for every block V, m numbers per column. About
  8(r+1) columns are needed until the residual is at rounding level: 19–29 for r = 2, 43–63 for 5,
  140–222 for 20, on digits, noisy images and spectra i⁻¹ and i⁻²; many more where eigenvalue r
  hardly differs from the next. The distance of U from the eigenspace is at most about
  ‖CU − UΘ‖/(θ_r − θ_{r+1}).

The first block has r random columns, or an eigenvalue of multiplicity r could not be found.

If a fraction of the variance is requested instead of r, the trace of C is summed first. Whenever r
components explain too little, at least (share·tr C − Σθ)/θ_r more are needed, because no further
eigenvalue exceeds θ_r; so no more components are computed than needed.
"""

import math
from functools import partial

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.problems.base import Eigenproblem
from grassvine.sums.krylov import (
    empty_space,
    extended,
    next_block,
    random_block,
    restarted,
    unconnected,
)
from grassvine.sums.program import Iterate, Program, ProgramOutcome, agree, all_reduce, decide

# A Krylov space is expected to need this number of columns for each component.
COLUMNS_PER_COMPONENT = 8
# For a fraction of the variance: with more items, the eigenvectors of C take each agent too long.
MAX_ITEMS = 2000
# A Krylov space is restarted with its best blocks, to bound memory and work.
MAX_BLOCKS, KEPT_BLOCKS = 30, 3


def principal_components(
    problem: Eigenproblem, start: Array, seed: int, max_iter: int, share: float = 0.0
) -> Program:
    """Compute the leading components of the samples of all agents.

    With ``share``, as many as explain more than this fraction of the variance; the number of
    columns of ``start`` is then an initial guess.
    """
    n_items, rank = start.shape
    n_columns, wanted = COLUMNS_PER_COMPONENT * (rank + 1), 0.0
    if share:
        totals = yield from all_reduce(Iterate(start), lambda: (problem.trace, problem.n_samples))
        wanted = share * float(totals[0])
        n_samples = int((yield from agree(float(totals[1]))))
        n_columns = min(n_samples, n_items) if n_items <= MAX_ITEMS else 0
    if n_items + 1 <= 2 * n_columns:
        return (yield from _by_matrix(problem, start, wanted))
    return (yield from _by_blocks(problem, start, seed, max_iter, wanted))


def _by_matrix(problem: Eigenproblem, start: Array, wanted: float) -> Program:
    """Compute the components from one sum of C."""
    n_items, rank = start.shape
    lower = np.tril_indices(n_items)
    (packed,) = yield from all_reduce(Iterate(start), lambda: (problem.matrix()[lower],))
    matrix = np.zeros((n_items, n_items))
    matrix[lower] = packed
    values, vectors = np.linalg.eigh(matrix)  # reads the lower triangle only
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = int((yield from agree(_enough(values, wanted)))) if wanted else rank
    basis = np.ascontiguousarray(vectors[:, :rank])
    product = (matrix + np.tril(matrix, -1).T) @ basis
    norm = float(np.linalg.norm(product - basis * values[:rank]))
    iterate = Iterate(basis, -0.5 * float(values[:rank].sum()), norm)
    return ProgramOutcome(iterate, "the components are those of the summed matrix")


def _by_blocks(
    problem: Eigenproblem, start: Array, seed: int, max_iter: int, wanted: float
) -> Program:
    """Compute the components from a block Krylov space."""
    n_items, rank = start.shape
    rng = stream(seed, "components")
    space, iterate = empty_space(n_items), Iterate(start)
    block = unconnected(space, start)
    reason = f"reached the limit of {max_iter} sums"
    for _ in range(max_iter):
        (image,) = yield from all_reduce(iterate, partial(_image, problem, block.columns))
        space = yield from extended(space, block, image)
        norm = float(np.linalg.norm(space.residual(rank)))
        found = space.values[:rank]
        iterate = Iterate(space.eigenvectors(rank), -0.5 * float(found.sum()), norm)
        if (yield from decide(norm <= space.noise * math.sqrt(rank))):
            more = int((yield from agree(_missing(found, wanted, space.noise))))
            if not more or space.basis.shape[1] == n_items:
                reason = "the gradient is zero up to rounding"
                break
            rank = min(rank + more, n_items)
            space, block = random_block(space, more, rng)
            continue
        if space.basis.shape[1] >= MAX_BLOCKS * rank:
            space = restarted(space, KEPT_BLOCKS * rank)
        space, block = yield from next_block(space, rank)
    if wanted:
        rank = int((yield from agree(_enough(space.values, wanted))))
        kept = space.values[:rank]
        iterate = Iterate(space.eigenvectors(rank), -0.5 * float(kept.sum()), iterate.gradient_norm)
    return ProgramOutcome(iterate, reason)


def _image(problem: Eigenproblem, block: Array) -> tuple[Array]:
    return (problem.matrix_product(block),)


def _missing(values: Array, wanted: float, noise: float) -> int:
    """Return how many more components are needed at least for a sum of more than ``wanted``."""
    lacking = wanted - float(values.sum())
    if lacking < 0.0 or values[-1] <= noise:  # further values are zero
        return 0
    return max(math.ceil(lacking / float(values[-1])), 1)


def _enough(values: Array, wanted: float) -> int:
    """Return the least number of values whose sum is more than ``wanted``, as scikit-learn does."""
    return min(int(np.searchsorted(np.cumsum(values), wanted, side="right")) + 1, len(values))
