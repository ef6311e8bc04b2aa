import numpy as np
import pytest

import grassvine as gv
from grassvine.sums import continuation
from grassvine.sums.program import ProgramOutcome, run_pooled

GRASSMANN = gv.geometry.Grassmann()


def sparse_table(seed: int) -> tuple[gv.Ratings, np.ndarray]:
    """Hardly more entries than a table of rank 3 has degrees of freedom."""
    data = gv.datasets.low_rank_ratings(
        200, 200, 3, oversampling=1.8, noise=0.0, condition=10.0, least_entries=3, seed=seed
    )
    return data.ratings, data.subspace


def complete(ratings: gv.Ratings, rank: int = 3, unobserved: float = 0.0) -> ProgramOutcome:
    problem = gv.CompletionProblem(ratings, unobserved=unobserved)
    start = gv.Plan(ratings.n_items, rank, gv.networks.path(2)).start(0)
    return run_pooled(gv.Exact().program(problem, start, seed=0))


def certified(ending: ProgramOutcome) -> bool:
    return ending.reason.startswith("the table is recovered")


def test_stuck_descents_begin_anew_and_the_certificate_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = [sparse_table(seed) for seed in range(8)]
    endings = [complete(ratings) for ratings, _ in tables]
    for ending, (_, subspace) in zip(endings, tables, strict=True):
        distance = GRASSMANN.distance(ending.iterate.basis, subspace)
        # A residual of 1e-9 and a few hundred for the condition of so few entries.
        assert certified(ending) == (distance < 1e-6)
    monkeypatch.setattr(continuation, "MAX_ATTEMPTS", 1)
    at_once = [certified(complete(ratings)) for ratings, _ in tables]
    again = [certified(ending) for ending in endings]
    assert all(later >= first for first, later in zip(at_once, again, strict=True))
    assert sum(again) > sum(at_once)  # here 7 and 6 of 8


def test_the_restarts_are_the_same_at_any_number_of_agents() -> None:
    ratings, subspace = sparse_table(5)  # stuck at the first attempt
    parts = [gv.CompletionProblem(part) for part in gv.datasets.split_users(ratings, 4)]
    result = gv.run(gv.Plan(200, 3, gv.networks.ring(4), gv.Exact()), parts)
    assert result.stop_reason.startswith("the table is recovered")
    assert GRASSMANN.distance(result.bases[0], subspace) < 1e-6


def test_noise_is_not_taken_for_being_stuck() -> None:
    data = gv.datasets.low_rank_ratings(200, 300, 3, oversampling=4.0, noise=0.5, seed=2)
    ending = complete(data.ratings)
    assert ending.reason == "the gradient norm fell to 1e-08 of its initial value"


def test_with_a_penalty_there_is_nothing_to_certify() -> None:
    ratings, _ = sparse_table(0)
    assert not certified(complete(ratings, unobserved=0.1))


def test_users_with_no_more_entries_than_the_rank_are_set_aside() -> None:
    rng = np.random.default_rng(7)
    data = gv.datasets.low_rank_ratings(60, 400, 3, oversampling=4.0, noise=0.0, seed=3)
    few_users = np.repeat(np.arange(400, 430), 3)
    few_items = np.concatenate([rng.choice(60, 3, replace=False) for _ in range(30)])
    ratings = gv.Ratings.from_arrays(
        np.concatenate([data.ratings.users_of_values(), few_users]),
        np.concatenate([data.ratings.items, few_items]),
        np.concatenate([data.ratings.values, 100.0 * rng.standard_normal(90)]),
    )
    # They fit any basis; what they say must not move the others' answer.
    assert GRASSMANN.distance(complete(ratings).iterate.basis, data.subspace) < 1e-8
