"""Case 1 to a relative residual of 1e-6, against other optimisers: ``python -m benchmarks.case1``.

The table of the paper's Case 1, 10,000 × 100,000, rank 5, OS 6. CPU seconds of one thread until the
root mean square of the residuals at the known entries is 1e-6 of that of the entries, everything
included that comes after the table: compiling is not, spectral starts are. Compared with the exact
method, which needs no start, are

- alternating least squares from the spectral start, which solve users and items exactly in turn;
- conjugate gradients of Pymanopt on our own kernels, from the spectral start and a random one.

``python -m benchmarks.case1 0.1`` takes a tenth of the users, ``... 1 3`` three seeds.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

import grassvine as gv
from grassvine.baselines import spectral_start, to_pymanopt
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.problems.base import Evaluation
from grassvine.sums.own import Data
from grassvine.sums.program import first_part, flat, next_part, shaped

N_ITEMS, N_USERS, RANK, OVERSAMPLING = 10_000, 100_000, 5, 6.0
GOAL = 1e-6
MAX_SWEEPS = 200


class Reached(Exception):
    """The goal was reached."""


@dataclass
class Watched:
    """The problem, with a clock that stops when an evaluation reaches the goal."""

    problem: gv.CompletionProblem
    evaluations: int = 0
    began: float = field(default_factory=time.process_time)
    seconds: float = math.nan

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.problem.n_items

    @property
    def n_values(self) -> int:
        """The number of entries."""
        return self.problem.n_values

    def evaluate(self, basis: Array) -> Evaluation:
        """Evaluate, and stop at the goal."""
        found = self.problem.evaluate(basis)
        self.evaluations += 1
        self.note(found.squared_error)
        return found

    def note(self, squared_error: float) -> None:
        """Stop at the goal."""
        values = self.problem.ratings.values
        if squared_error <= GOAL**2 * float(values @ values):
            self.seconds = time.process_time() - self.began
            raise Reached

    def weights(self, basis: Array) -> Array:
        """Return the weights of the users."""
        return self.problem.weights(basis)


def exact(problem: gv.CompletionProblem, seed: int) -> dict[str, float]:
    """The exact method for a single owner of the table."""
    start = gv.Plan(problem.n_items, RANK, gv.networks.path(2), seed=seed).start(0)
    energy = float(problem.ratings.values @ problem.ratings.values)
    began, sums, data = time.process_time(), 0, Data(problem)
    program = gv.Exact().program(problem, start, seed)
    part = first_part(program)
    while True:
        # Without λ the cost is half of the squared error. Smaller ranks have larger ones.
        if 2.0 * part.iterate.cost <= GOAL**2 * energy:
            return {"seconds": time.process_time() - began, "sums": sums}
        part = next_part(program, shaped(*flat(part.of(data))))
        sums += 1


def alternating(problem: gv.CompletionProblem, seed: int) -> dict[str, float]:
    """Alternating least squares from the spectral start."""
    watched = Watched(problem)
    ratings = problem.ratings
    items = spectral_start(ratings, RANK, seed)
    order = np.argsort(ratings.items, kind="stable")
    by_item = (
        np.concatenate([[0], np.cumsum(np.bincount(ratings.items, minlength=ratings.n_items))]),
        ratings.users_of_values()[order].astype(np.int32),
        ratings.values[order],
    )
    users = np.zeros((ratings.n_users, RANK))
    sweeps = 0
    with suppress(Reached):
        while sweeps < MAX_SWEEPS:
            sweeps += 1
            error = solve_rows(ratings.starts, ratings.items, ratings.values, items, users)
            watched.note(error)
            solve_rows(*by_item, users, items)
    return {"seconds": watched.seconds, "sweeps": sweeps}


@njit(cache=True)
def solve_rows(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: Array,
    known: Array,
    solved: Array,
) -> float:
    """Solve each row by least squares, by Cholesky factors; return the squared error."""
    rank = known.shape[1]
    total = 0.0
    matrix, right = np.zeros((rank, rank)), np.zeros(rank)
    for row in range(len(starts) - 1):
        matrix[:], right[:], squares = 0.0, 0.0, 0.0
        for k in range(starts[row], starts[row + 1]):
            u, y = known[columns[k]], values[k]
            squares += y * y
            for a in range(rank):
                right[a] += y * u[a]
                for b in range(a + 1):
                    matrix[a, b] += u[a] * u[b]
        for a in range(rank):
            for b in range(a + 1):
                rest = matrix[a, b]
                for c in range(b):
                    rest -= matrix[a, c] * matrix[b, c]
                if a == b:
                    matrix[a, a] = np.sqrt(max(rest, 1e-300))
                else:
                    matrix[a, b] = rest / matrix[b, b]
        for a in range(rank):
            for c in range(a):
                right[a] -= matrix[a, c] * right[c]
            right[a] /= matrix[a, a]
        for a in range(rank - 1, -1, -1):
            for c in range(a + 1, rank):
                right[a] -= matrix[c, a] * right[c]
            right[a] /= matrix[a, a]
        solved[row] = right
        for k in range(starts[row], starts[row + 1]):
            u, error = known[columns[k]], values[k]
            for a in range(rank):
                error -= u[a] * right[a]
            total += error * error
    return total


def pymanopt_from(start: str) -> Callable[[gv.CompletionProblem, int], dict[str, float]]:
    """Conjugate gradients of Pymanopt on our kernels, with its defaults."""

    def run(problem: gv.CompletionProblem, seed: int) -> dict[str, float]:
        from pymanopt.optimizers import ConjugateGradient

        watched = Watched(problem)
        first = (
            spectral_start(problem.ratings, RANK, seed)
            if start == "spectral"
            else gv.Plan(problem.n_items, RANK, gv.networks.path(2), seed=seed).start(0)
        )
        solver: Any = ConjugateGradient(
            verbosity=0, max_time=600, max_iterations=2000, min_gradient_norm=0, min_step_size=0
        )
        with suppress(Reached):
            solver.run(to_pymanopt(watched, RANK), initial_point=first)
        return {"seconds": watched.seconds, "evaluations": watched.evaluations}

    return run


OPTIMISERS: dict[str, Callable[[gv.CompletionProblem, int], dict[str, float]]] = {
    "exact": exact,
    "ALS, spectral start": alternating,
    "Pymanopt CG, spectral start": pymanopt_from("spectral"),
    "Pymanopt CG, random start": pymanopt_from("random"),
}


def measure(share: float = 1.0, seeds: int = 1) -> Iterator[tuple[int, str, dict[str, float]]]:
    """Yield seed, optimiser and its figures, for tables with a share of the users."""
    small = gv.datasets.low_rank_ratings(50, 200, RANK, oversampling=OVERSAMPLING, seed=0)
    with one_blas_thread():
        for compiled in (exact, alternating):
            compiled(gv.CompletionProblem(small.ratings), 0)
        for seed in range(1, seeds + 1):
            data = gv.datasets.low_rank_ratings(
                N_ITEMS, int(share * N_USERS), RANK, oversampling=OVERSAMPLING, seed=seed
            )
            for name, optimise in OPTIMISERS.items():
                # Without what an earlier one cached of the table.
                yield seed, name, optimise(gv.CompletionProblem(data.ratings), seed)


def main(arguments: list[str]) -> None:
    """Print the figures, and the CPU seconds relative to those of the exact method."""
    share = float(arguments[0]) if arguments else 1.0
    ours = math.nan
    for seed, name, figures in measure(share, int(arguments[1]) if arguments[1:] else 1):
        ours = figures["seconds"] if name == "exact" else ours
        told = ", ".join(f"{key} {value:.4g}" for key, value in figures.items())
        ratio = ours / figures["seconds"]
        print(f"seed {seed}, {name}: {told}; exact takes {ratio:.2f} of it", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
