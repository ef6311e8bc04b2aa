"""Problems of the parts of a ratings table, in memory or loaded by the agents."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import real_number
from grassvine.problems.base import Problem

# A function is called where its agent runs, so that its data are loaded there.
ProblemSource: TypeAlias = Problem | Callable[[], Problem]
RatingsSource: TypeAlias = Ratings | Callable[[], Ratings]


@dataclass(frozen=True, slots=True)
class LoadedProblem:
    """A callable that loads one agent's ratings and returns its problem.

    Parameters
    ----------
    load : function
        Returns the ratings, such as a part of a :class:`RatingDataset`.
    create : function
        Returns the problem for these ratings.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.problems import LoadedProblem
    >>> data = gv.datasets.low_rank_ratings(30, 200, rank=2, oversampling=4.0)
    >>> source = LoadedProblem(load=lambda: data.ratings, create=gv.CompletionProblem)
    >>> source().n_items  # an engine calls it where the agent runs
    30
    """

    load: Callable[[], Ratings]
    create: Callable[[Ratings], Problem]

    def __call__(self) -> Problem:
        """Load the ratings and create the problem."""
        return self.create(self.load())


def problems_of(
    parts: Sequence[RatingsSource],
    problem: Callable[..., Problem],
    *,
    centre: float = 0.0,
    **options: Any,
) -> list[ProblemSource]:
    """Return for each agent a problem, or a function that loads it where the agent runs.

    Parameters
    ----------
    parts : sequence of Ratings or functions
        The ratings of each agent, or functions that load them, such as ``dataset.parts`` of a
        :class:`RatingDataset`.
    problem : class
        :class:`CompletionProblem` or :class:`BiasedCompletionProblem`.
    centre : float, default=0.0
        Constant that is subtracted from each rating.
    **options
        Options of the problem, such as ``unobserved``.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.problems import problems_of
    >>> data = gv.datasets.low_rank_ratings(30, 200, rank=2, oversampling=4.0)
    >>> parts = gv.datasets.split_users(data.ratings, 4)
    >>> problems = problems_of(parts, gv.CompletionProblem, centre=0.5, unobserved=0.01)
    >>> len(problems), problems[0].unobserved
    (4, 0.01)
    """
    real_number("centre", centre, error=DataError)
    create = partial(_create, problem, centre, options)
    # Wrong options are reported here, not where the ratings are loaded.
    create(Ratings(1, np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0)))
    return [
        create(part) if isinstance(part, Ratings) else LoadedProblem(part, create) for part in parts
    ]


def _create(
    problem: Callable[..., Problem], centre: float, options: dict[str, Any], ratings: Ratings
) -> Problem:
    return problem(ratings.shifted(-centre) if centre else ratings, **options)
