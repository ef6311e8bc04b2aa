import numpy as np
import pytest

import grassvine as gv
from grassvine.sums.own import own_problem
from grassvine.sums.program import Iterate, Part, Program, ProgramOutcome, run_pooled
from grassvine.sums.recovery import CLIPS, variational_basis
from grassvine.sums.recovery.attempt import MAX_ITER, MAX_LAST_ITER

GRASSMANN = gv.geometry.Grassmann()


def started(ratings: gv.Ratings, rank: int, attempt: int = 0) -> tuple[np.ndarray, int]:
    """The basis that an attempt starts the last descent from, and its number of sums."""
    sums, problem = 0, gv.CompletionProblem(ratings)

    def program() -> Program:
        nonlocal sums
        inner = variational_basis(own_problem(problem), ratings.n_items, rank, 0, attempt)
        part = next(inner)
        while True:
            sums += isinstance(part, Part)
            answer = yield part
            try:
                part = inner.send(answer)
            except StopIteration as end:
                return ProgramOutcome(Iterate(end.value), "started")

    return run_pooled(program(), problem).iterate.basis, sums


def low_rank(rank: int, oversampling: float, seed: int) -> gv.datasets.LowRankRatings:
    return gv.datasets.low_rank_ratings(
        150, 200, rank, oversampling=oversampling, noise=0.0, least_entries=rank, seed=seed
    )


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("attempt", range(len(CLIPS)))
def test_it_starts_near_the_table(rank: int, attempt: int) -> None:
    data = low_rank(rank, 3.0, seed=rank)
    basis, sums = started(data.ratings, rank, attempt)
    # The error variance fell to a hundredth of what the last factor explains, or less.
    assert GRASSMANN.distance(basis, data.subspace) < 0.1
    # Counts, a bound, power iterations and a scale for each factor, and the steps.
    assert sums <= 1 + rank * 10 + (rank - 1) * MAX_ITER + MAX_LAST_ITER


@pytest.mark.parametrize("rank", [2, 3])
def test_a_table_of_lower_rank_or_of_zeros_has_a_start_too(rank: int) -> None:
    data = low_rank(1, 6.0, seed=1)
    zeros = gv.Ratings(
        data.ratings.n_items,
        data.ratings.starts,
        data.ratings.items,
        np.zeros(data.ratings.n_values),
    )
    for ratings in (data.ratings, zeros):
        basis, _ = started(ratings, rank)
        np.testing.assert_allclose(basis.T @ basis, np.eye(rank), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale: float) -> None:
    data = low_rank(2, 2.5, seed=3)
    ratings = data.ratings
    scaled = gv.Ratings(ratings.n_items, ratings.starts, ratings.items, scale * ratings.values)
    basis, sums = started(ratings, 2)
    other, as_many = started(scaled, 2)
    assert sums == as_many
    assert GRASSMANN.distance(basis, other) < 1e-6  # rounding, magnified by some forty steps
