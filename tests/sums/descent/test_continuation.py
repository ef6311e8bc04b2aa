import math
from collections.abc import Callable

import numpy as np
import pytest

import grassvine as gv
from grassvine.sums.descent import continuation
from grassvine.sums.descent.conjugate_gradient import Descent
from grassvine.sums.descent.continuation import CompletedIterate
from grassvine.sums.own import Data
from grassvine.sums.program import (
    Decision,
    Part,
    Program,
    ProgramOutcome,
    Subprogram,
    run_pooled,
)

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
    return run_pooled(gv.Exact().program(problem, start, seed=0), problem)


def certified(ending: ProgramOutcome) -> bool:
    assert isinstance(ending.iterate, CompletedIterate)
    assert ending.reason.startswith("the table is recovered") == ending.iterate.recovered
    return ending.iterate.recovered


def undetermined(*_: object) -> Subprogram[bool]:
    yield from ()
    return False


def no_variational(*_: object) -> Descent:
    raise Stuck


class Stuck(Exception):
    """Continuation did not recover a table."""


def by_continuation(ratings: gv.Ratings) -> bool:
    try:
        return certified(complete(ratings))
    except Stuck:
        return False


def residual(ratings: gv.Ratings) -> float:
    evaluation = gv.CompletionProblem(ratings).evaluate(complete(ratings).iterate.basis)
    return math.sqrt(evaluation.squared_error) / float(np.linalg.norm(ratings.values))


def test_what_is_not_determined_is_fitted_as_far_as_rounding_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ratings, _ = sparse_table(0)
    certain = residual(ratings)
    monkeypatch.setattr(continuation, "determined", undetermined)
    # Systems are solved with a jitter of 1e-13; the gradient falls to 1e-8 before a certificate.
    assert residual(ratings) < 1e-11 < 1e-10 < certain


def test_stuck_descents_begin_anew_and_the_certificate_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = [sparse_table(seed) for seed in (0, 1, 2, 3, 4, 5, 12, 15)]
    for ratings, subspace in tables:
        ending = complete(ratings)
        # A residual of 1e-9 and a few hundred for the condition of so few entries.
        assert certified(ending)
        assert GRASSMANN.distance(ending.iterate.basis, subspace) < 1e-6
    monkeypatch.setattr(continuation, "_variational", no_variational)
    again = [by_continuation(ratings) for ratings, _ in tables]
    monkeypatch.setattr(continuation, "MAX_ATTEMPTS", 1)
    at_once = [by_continuation(ratings) for ratings, _ in tables]
    assert all(later >= first for first, later in zip(at_once, again, strict=True))
    assert len(tables) > sum(again) > sum(at_once)  # here 8, 7 and 5


@pytest.mark.parametrize("seed", [12, 3])  # stuck at the first attempt, at all attempts
def test_the_restarts_are_the_same_at_any_number_of_agents(seed: int) -> None:
    ratings, subspace = sparse_table(seed)
    parts = [gv.CompletionProblem(part) for part in gv.datasets.split_users(ratings, 4)]
    result = gv.run(gv.Plan(200, 3, gv.networks.ring(4), gv.Exact()), parts)
    assert result.stop_reason.startswith("the table is recovered")
    assert result.recovered
    assert GRASSMANN.distance(result.bases[0], subspace) < 1e-6


def test_a_stuck_completion_is_replayed_from_its_sums_without_the_data() -> None:
    ratings, _ = sparse_table(3)
    start = gv.Plan(200, 3, gv.networks.path(2)).start(0)
    answers: list[list[np.ndarray]] = []

    problem = gv.CompletionProblem(ratings)
    data = Data(problem)

    def record(part: Part | Decision) -> list[np.ndarray]:
        own = part.of(data) if isinstance(part, Part) else [part.value]
        answers.append([np.asarray(one, dtype=np.float64) for one in own])
        return answers[-1]

    first = drive(gv.Exact().program(problem, start, 0), record)
    # Other values at the same places: a pass over them would change the result.
    other = gv.CompletionProblem(ratings.shifted(1.0))
    known = iter(answers)
    second = drive(gv.Exact().program(other, start, 0), lambda part: next(known))
    assert first.iterate.basis.tobytes() == second.iterate.basis.tobytes()
    assert first.reason == second.reason
    assert next(known, None) is None


def drive(
    program: Program, answer: Callable[[Part | Decision], list[np.ndarray]]
) -> ProgramOutcome:
    part = next(program)
    while True:
        try:
            part = program.send(answer(part))
        except StopIteration as end:
            ending: ProgramOutcome = end.value
            return ending


def test_noise_is_not_taken_for_being_stuck() -> None:
    data = gv.datasets.low_rank_ratings(200, 300, 3, oversampling=4.0, noise=0.5, seed=2)
    ending = complete(data.ratings)
    assert ending.reason == "the gradient norm fell to 1e-08 of its initial value"
    assert not certified(ending)


def test_with_a_penalty_there_is_nothing_to_certify() -> None:
    ratings, _ = sparse_table(0)
    assert not isinstance(complete(ratings, unobserved=0.1).iterate, CompletedIterate)


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
    ending = complete(ratings)
    assert GRASSMANN.distance(ending.iterate.basis, data.subspace) < 1e-8
