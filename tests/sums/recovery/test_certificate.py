"""What is fitted but not determined is not certified, and the estimate is above the error."""

import math
from typing import Any

import numpy as np
import pytest

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.sums.descent import continuation
from grassvine.sums.descent.continuation import CompletedIterate
from grassvine.sums.program import ProgramOutcome, Subprogram, run_pooled
from grassvine.sums.recovery import certificate

RANK = 3


def completed(ratings: gv.Ratings) -> ProgramOutcome:
    start = gv.Plan(ratings.n_items, RANK, gv.networks.path(2)).start(0)
    problem = gv.CompletionProblem(ratings)
    return run_pooled(gv.Exact().program(problem, start, seed=0), problem)


def certified(ratings: gv.Ratings) -> tuple[bool, str]:
    ending = completed(ratings)
    assert isinstance(ending.iterate, CompletedIterate)
    return ending.iterate.recovered, ending.reason


def without(ratings: gv.Ratings, dropped: Array) -> gv.Ratings:
    return ratings.take_values(~dropped.astype(bool))


def table() -> gv.Ratings:
    return gv.datasets.low_rank_ratings(60, 300, RANK, oversampling=4.0, noise=0.0, seed=3).ratings


def test_a_table_without_noise_is_certified() -> None:
    assert certified(table())[0]


def test_an_item_with_fewer_entries_than_the_rank_is_not_determined() -> None:
    ratings = table()
    of_item = np.flatnonzero(ratings.items == 7)
    dropped = np.zeros(ratings.n_values)
    dropped[of_item[RANK - 1 :]] = 1.0
    found, reason = certified(without(ratings, dropped))
    assert not found
    assert reason == "the known entries are fitted, but do not determine all others"


def test_an_item_with_as_many_entries_is() -> None:
    ratings = table()
    dropped = np.zeros(ratings.n_values)
    dropped[np.flatnonzero(ratings.items == 7)[RANK:]] = 1.0
    assert certified(without(ratings, dropped))[0]


def test_a_user_with_fewer_entries_than_the_rank_is_not_determined() -> None:
    ratings = table()
    dropped = np.zeros(ratings.n_values)
    dropped[ratings.starts[5] + RANK - 1 : ratings.starts[6]] = 1.0
    assert not certified(without(ratings, dropped))[0]


def test_users_and_items_without_entries_are_not_of_the_table() -> None:
    ratings = table()
    dropped = (ratings.items == 7) | (ratings.users_of_values() == 5)
    assert certified(without(ratings, dropped))[0]


def test_a_table_of_lower_rank_is_certified() -> None:
    data = gv.datasets.low_rank_ratings(60, 300, 2, oversampling=6.0, noise=0.0, seed=1)
    assert certified(data.ratings)[0]


def test_noise_is_not_certified() -> None:
    data = gv.datasets.low_rank_ratings(60, 300, RANK, oversampling=4.0, noise=1e-6, seed=3)
    assert not certified(data.ratings)[0]


def true_error(data: gv.datasets.LowRankRatings, basis: Array) -> float:
    weights = gv.CompletionProblem(data.ratings).weights(basis)
    assert data.test is not None
    wrong = whole = 0.0
    for part in (data.ratings, data.test):
        fitted = np.einsum("kr,kr->k", basis[part.items], weights[part.users_of_values()])
        wrong += float(np.sum((fitted - part.values) ** 2))
        whole += float(np.sum(part.values**2))
    return math.sqrt(wrong / whole)


@pytest.mark.parametrize("condition", [10.0, 1e4])
def test_the_estimate_is_above_the_error(condition: float, monkeypatch: pytest.MonkeyPatch) -> None:
    estimates: list[float] = []

    def determined(*given: Any) -> Subprogram[bool]:
        estimates.append((yield from certificate.estimated_error(*given)))
        return True

    monkeypatch.setattr(continuation, "determined", determined)
    errors = []
    for seed in range(50, 56):
        data = gv.datasets.low_rank_ratings(
            120,
            150,
            RANK,
            oversampling=2.2,
            noise=0.0,
            condition=condition,
            least_entries=RANK,
            n_test=120 * 150,
            seed=seed,
        )
        errors.append(true_error(data, completed(data.ratings).iterate.basis))
    ratios = np.array(estimates) / np.array(errors)  # all six are fitted
    assert ratios.min() > 1.0
    assert ratios.max() < 200.0  # here 40 to 60
