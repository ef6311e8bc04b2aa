import pickle
from functools import partial

import numpy as np
import pytest
from tests.samples import ratings

import grassvine as gv
from grassvine.foundations.errors import DataError
from grassvine.foundations.seeds import stream


def test_the_problem_is_that_of_the_ratings_at_hand() -> None:
    basis = gv.geometry.Grassmann().random_point(20, 3, stream(0, "start", "loaded"))
    load = partial(ratings, 1)
    (found,) = gv.problems.problems_of(
        [load], gv.CompletionProblem, centre=0.5, unobserved=0.1, tikhonov=0.2, threads=2
    )
    wanted = gv.CompletionProblem(load().shifted(-0.5), 0.1, 0.2)
    assert isinstance(found, gv.problems.LoadedProblem)
    for problem in (found(), pickle.loads(pickle.dumps(found))()):
        assert isinstance(problem, gv.CompletionProblem) and problem.threads == 2
        assert np.array_equal(problem.evaluate(basis).gradient, wanted.evaluate(basis).gradient)


def test_nothing_is_read_before_it_is_called_and_options_are_checked_at_once() -> None:
    def load() -> gv.Ratings:
        raise AssertionError

    gv.problems.problems_of([load, load], gv.CompletionProblem)
    with pytest.raises(DataError, match="unobserved is 2; choose"):
        gv.problems.problems_of([load], gv.CompletionProblem, unobserved=2)
    with pytest.raises(DataError, match="threads is 0; choose"):
        gv.problems.problems_of([load], gv.CompletionProblem, threads=0)
    with pytest.raises(DataError, match="centre is nan; choose"):
        gv.problems.problems_of([load], gv.CompletionProblem, centre=float("nan"))


def test_ratings_in_memory_become_problems_at_once() -> None:
    (found,) = gv.problems.problems_of([ratings()], gv.BiasedCompletionProblem)
    assert isinstance(found, gv.BiasedCompletionProblem)
