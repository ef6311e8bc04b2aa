"""Completion of ratings that are read where the problem is solved."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import real_number
from grassvine.problems.completion import CompletionProblem


@dataclass(frozen=True, slots=True)
class LoadedCompletion:
    """Calling it reads one agent's ratings and returns its :class:`CompletionProblem`.

    Parameters
    ----------
    load : function
        Returns the ratings, such as a part of a :class:`RatingDataset`.
    centre : float
        What is subtracted from each rating.
    unobserved, tikhonov, threads
        Those of the problem.
    """

    load: Callable[[], Ratings]
    centre: float = 0.0
    unobserved: float = 0.0
    tikhonov: float = 0.0
    threads: int = 1

    def __post_init__(self) -> None:
        """Check the options here, not where the ratings are."""
        real_number("centre", self.centre, error=DataError)
        self._problem(Ratings(1, np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0)))

    def __call__(self) -> CompletionProblem:
        """Read the ratings."""
        ratings = self.load()
        return self._problem(ratings.shifted(-self.centre) if self.centre else ratings)

    def _problem(self, ratings: Ratings) -> CompletionProblem:
        return CompletionProblem(ratings, self.unobserved, self.tikhonov, self.threads)


def completion_problems(
    parts: Sequence[Callable[[], Ratings]],
    *,
    centre: float = 0.0,
    unobserved: float = 0.0,
    tikhonov: float = 0.0,
    threads: int = 1,
) -> list[LoadedCompletion]:
    """Return for each agent a function that :func:`run` calls where the agent lives.

    Parameters
    ----------
    parts : sequence of functions
        Each returns one agent's ratings; ``dataset.parts`` of a :class:`RatingDataset`.
    centre, unobserved, tikhonov, threads
        See :class:`LoadedCompletion`.
    """
    return [LoadedCompletion(part, centre, unobserved, tikhonov, threads) for part in parts]
