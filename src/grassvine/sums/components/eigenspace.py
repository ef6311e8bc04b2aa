r"""Principal components over sums: the leading eigenspace of C = ΣC_i, with C_i = X_iᵀX_i.

Of two algorithms, the one that is cheaper to send and to compute is used:

- One sum of C itself: its lower triangle, m(m+1)/2 numbers.
- A block Krylov space (``krylov.py``): a sum of C·V for every block V, m numbers per column, of
  which about 8(r+1) are needed until the residual is at rounding level: 19–29 for r = 2, 43–63 for
  5, 140–222 for 20, on digits, noisy images and spectra i⁻¹ and i⁻²; many more where eigenvalue r
  hardly differs from the next. The distance of U from the eigenspace is at most about
  ‖CU − UΘ‖/(θ_r − θ_{r+1}).

C is summed at once where it is no larger than so many columns. Otherwise the space is begun, with r
random columns V. Its first sum estimates the effective rank of C too,

.. math::

    p = (tr C)²/tr C² ≈ m·(tr VᵀCV)²/(r·‖CV‖²),

and C is summed if that costs less than 8(r+1) + p further columns, or later, when the columns so
far have cost as much: then all costs at most about twice what the better algorithm would have.

The first block has r columns, or an eigenvalue of multiplicity r could not be found.

If a fraction of the variance is requested instead of r, the trace of C is summed first. Whenever r
components explain too little, at least (share·tr C − Σθ)/θ_r more are needed, because no further
eigenvalue exceeds θ_r; so no more components are computed than needed.
"""

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread_of_scipy
from grassvine.foundations.seeds import stream
from grassvine.problems.base import Eigenproblem, Problem
from grassvine.sums.components.krylov import (
    KrylovSpace,
    eigenvectors,
    empty_space,
    extended,
    next_block,
    random_block,
    restarted,
    unconnected,
)
from grassvine.sums.own import Data, Own
from grassvine.sums.program import (
    Compute,
    Iterate,
    Program,
    ProgramOutcome,
    agree,
    all_reduce,
    decide,
)

# A Krylov space is expected to need this number of columns for each component.
COLUMNS_PER_COMPONENT = 8
# With more items, the eigenvectors of C take each agent too long.
MAX_ITEMS = 2000
# A Krylov space is restarted with its best blocks, to bound memory and work.
MAX_BLOCKS, KEPT_BLOCKS = 30, 3
# Costs are counted in operations of a product of large matrices. Products with a few columns do
# half as many in the same time. To send a number up and down a tree takes as long as this many: at
# 5e10 operations a second, 160 megabytes a second.
THIN, SENT = 2.0, 5000.0


@dataclass(frozen=True, slots=True, eq=False)
class ComponentsIterate(Iterate):
    """Eigenvectors of C within a space, and their eigenvalues, in descending order."""

    squares: Array = field(default_factory=lambda: np.zeros(0))
    of_matrix: bool = False  # every agent has computed its C

    def arrays(self) -> dict[str, Array]:
        """Return the basis, and the sum of squares of the samples of all agents along each axis."""
        return {"basis": self.basis, "squares": self.squares}

    def fit_to(self, problem: Problem) -> tuple[float, float]:
        """Return the cost of one agent's problem, and its squared error, from one product."""
        if not isinstance(problem, Eigenproblem):
            return Iterate.fit_to(self, problem)
        if self.of_matrix and problem.keeps_matrix:
            captured = float(np.vdot(self.basis, problem.matrix() @ self.basis))
        else:
            weights = problem.weights(self.basis)
            captured = float(np.vdot(weights, weights))
        return -0.5 * captured, problem.trace - captured


@dataclass(frozen=True, slots=True)
class Costs:
    """What an agent with its share of the samples computes and sends by either algorithm."""

    n_items: int
    rank: int
    n_samples: float = 0.0
    n_agents: float = 1.0

    @property
    def _sent(self) -> float:
        return SENT if self.n_agents > 1.0 else 0.0

    def of_matrix(self) -> float:
        """Return the cost of a sum of C and its eigenvectors."""
        m = float(self.n_items)
        sent = self._sent * m * (m + 1.0) / 2.0
        return self.n_samples / self.n_agents * m**2 + THIN * 4.0 / 3.0 * m**3 + sent

    def of_columns(self, n_columns: float) -> float:
        """Return the cost of so many columns of a Krylov space."""
        m, known = float(self.n_items), min(n_columns, MAX_BLOCKS * self.rank)
        operations = 4.0 * self.n_samples / self.n_agents * m + 5.0 * m * known
        return n_columns * (THIN * operations + self._sent * m)


def principal_components(
    problem: Own[Eigenproblem], start: Array, seed: int, max_iter: int, share: float = 0.0
) -> Program:
    """Compute the leading components of the samples of all agents.

    With ``share``, as many as explain more than this fraction of the variance; the number of
    columns of ``start`` is then an initial guess.
    """
    n_items, rank = start.shape
    n_columns, wanted = COLUMNS_PER_COMPONENT * (rank + 1), 0.0
    if share:
        totals = yield from all_reduce(
            Iterate(start), lambda data: (data[problem].trace, data[problem].n_samples)
        )
        wanted = share * float(totals[0])
        n_samples = int((yield from agree(float(totals[1]))))
        n_columns = min(n_samples, n_items) if n_items <= MAX_ITEMS else 0
    if n_items + 1 <= 2 * n_columns:
        return (yield from _by_matrix(problem, Iterate(start), rank, wanted))
    return (yield from _by_blocks(problem, start, seed, max_iter, wanted))


def _by_matrix(problem: Own[Eigenproblem], iterate: Iterate, rank: int, wanted: float) -> Program:
    """Compute the components from one sum of C."""
    n_items = len(iterate.basis)
    (packed,) = yield from all_reduce(iterate, lambda data: (_packed(data[problem].matrix()),))
    if wanted:
        values = _eigenvalues(packed, n_items)
        rank = int((yield from agree(_enough(values, wanted))))
    found = _of_matrix(packed, n_items, rank)
    return ProgramOutcome(found, "the components are those of the summed matrix")


def _packed(matrix: Array) -> Array:
    """Return the lower triangle, row by row."""
    return np.concatenate([row[: place + 1] for place, row in enumerate(matrix)])


def _unpacked(packed: Array, n_items: int) -> Array:
    lower = np.tri(n_items, dtype=bool)
    matrix = np.zeros((n_items, n_items))
    matrix[lower] = packed
    full: Array = np.where(lower, matrix, matrix.T)
    return full


def _eigenvalues(packed: Array, n_items: int) -> Array:
    """Return all eigenvalues in descending order."""
    values = np.linalg.eigvalsh(_unpacked(packed, n_items))
    return np.asarray(values[::-1], dtype=np.float64)


def _of_matrix(packed: Array, n_items: int, rank: int) -> ComponentsIterate:
    """Return the leading eigenvectors, with which LAPACK does half of the work that all take."""
    from scipy.linalg import eigh  # slow to import, and few fits need it

    matrix = _unpacked(packed, n_items)
    with one_blas_thread_of_scipy():  # SciPy has a BLAS of its own
        values, vectors = eigh(
            matrix, subset_by_index=[n_items - rank, n_items - 1], check_finite=False
        )
    values, basis = values[::-1].copy(), np.ascontiguousarray(vectors[:, ::-1])
    norm = float(np.linalg.norm(matrix @ basis - basis * values))
    cost = -0.5 * float(values.sum())
    return ComponentsIterate(basis, cost, norm, squares=values, of_matrix=True)


def _by_blocks(
    problem: Own[Eigenproblem], start: Array, seed: int, max_iter: int, wanted: float
) -> Program:
    """Compute the components from a block Krylov space, or from C where that is cheaper."""
    rank = start.shape[1]
    rng, n_items = stream(seed, "components"), len(start)
    iterate, extension = Iterate(start), unconnected(empty_space(n_items), start)
    reason = f"reached the limit of {max_iter} sums"
    compute: Compute = partial(_first_image, problem, start)
    costs, n_columns = Costs(n_items, rank), 0
    for _ in range(max_iter):
        image, *counts = yield from all_reduce(iterate, compute)
        n_columns += image.shape[1]
        space = yield from extended(extension.space, extension.block, image)
        norm = float(np.linalg.norm(space.residual(rank)))
        iterate = _of_space(space, rank, norm)
        if (yield from decide(norm <= space.noise * math.sqrt(rank))):
            more = int((yield from agree(_missing(iterate.squares, wanted, space.noise))))
            if not more or space.basis.shape[1] == n_items:
                reason = "the gradient is zero up to rounding"
                break
            rank = min(rank + more, n_items)
            extension = random_block(space, more, rng)
        else:
            expected = float(n_columns)
            if counts:
                costs = Costs(n_items, rank, *map(float, counts))
                expected = COLUMNS_PER_COMPONENT * (rank + 1) + effective_rank(start, image)
            if (
                not wanted
                and n_items <= MAX_ITEMS
                and (yield from decide(costs.of_columns(expected) > costs.of_matrix()))
            ):
                return (yield from _by_matrix(problem, iterate, rank, wanted))
            if space.basis.shape[1] >= MAX_BLOCKS * rank:
                space = restarted(space, KEPT_BLOCKS * rank)
            extension = yield from next_block(space, rank)
        compute = partial(_image, problem, extension.block.columns)
    if wanted:
        rank = int((yield from agree(_enough(space.values, wanted))))
        iterate = _of_space(space, rank, iterate.gradient_norm)
    return ProgramOutcome(iterate, reason)


def _first_image(
    problem: Own[Eigenproblem], block: Array, data: Data
) -> tuple[Array, float, float]:
    """Return the image of a block, the number of samples, and that of agents: one."""
    own = data[problem]
    return own.matrix_product(block), float(own.n_samples), 1.0


def _image(problem: Own[Eigenproblem], block: Array, data: Data) -> tuple[Array]:
    return (data[problem].matrix_product(block),)


def effective_rank(block: Array, image: Array) -> float:
    """Return (tr C)²/tr C², estimated from a random block with orthonormal columns."""
    squares = float(np.vdot(image, image))
    within = float(np.vdot(block, image))
    return len(block) * within**2 / (block.shape[1] * squares) if squares else 0.0


def _of_space(space: KrylovSpace, rank: int, norm: float) -> ComponentsIterate:
    squares = space.values[:rank].copy()
    basis = eigenvectors(space, rank)
    return ComponentsIterate(basis, -0.5 * float(squares.sum()), norm, squares=squares)


def _missing(values: Array, wanted: float, noise: float) -> int:
    """Return how many more components are needed at least for a sum of more than ``wanted``."""
    lacking = wanted - float(values.sum())
    if lacking < 0.0 or values[-1] <= noise:  # further values are zero
        return 0
    return max(math.ceil(lacking / float(values[-1])), 1)


def _enough(values: Array, wanted: float) -> int:
    """Return the least number of values whose sum is more than ``wanted``, as scikit-learn does."""
    return min(int(np.searchsorted(np.cumsum(values), wanted, side="right")) + 1, len(values))
