"""What a fit knows of all ratings together, be they here or in files that the agents read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from grassvine.data import Ids, Ratings
from grassvine.data.stored import RatingDataset
from grassvine.data.tables import RatingTable
from grassvine.foundations.arrays import Indices
from grassvine.problems import CompletionProblem, completion_problems
from grassvine.runs import ProblemSource


@dataclass(frozen=True, slots=True, eq=False)
class RatingsSummary:
    """The items that all agents share, sums over all agents, and a problem for each.

    Attributes
    ----------
    items : Ids
        The shared items.
    counts : array of int
        How many ratings each item has.
    lowest, highest : float
        The range of the ratings.
    n_agents, n_users : int
    mean : function
        Returns the mean of all ratings.
    squares : function
        Returns the sum of the squares of all ratings less a centre.
    problems : function
        Returns what each agent is given, for a centre and λ.
    """

    items: Ids
    counts: Indices
    lowest: float
    highest: float
    n_agents: int
    n_users: int
    mean: Callable[[], float]
    squares: Callable[[float], float]
    problems: Callable[[float, float], Sequence[ProblemSource]]


def from_table(table: RatingTable, parts: Sequence[Ratings]) -> RatingsSummary:
    """Return what is known of a table that is here, divided among agents."""
    values = table.ratings.values

    def mean() -> float:
        total = sum(float(part.values.sum()) for part in parts)
        return total / sum(part.n_values for part in parts)

    def squares(centre: float) -> float:
        return sum(float(np.sum((part.values - centre) ** 2)) for part in parts)

    def problems(centre: float, unobserved: float) -> Sequence[ProblemSource]:
        centred = [part.shifted(-centre) for part in parts] if centre else parts
        return [CompletionProblem(part, unobserved=unobserved) for part in centred]

    return RatingsSummary(
        items=table.items,
        counts=np.bincount(table.ratings.items, minlength=len(table.items)),
        lowest=float(values.min()),
        highest=float(values.max()),
        n_agents=len(parts),
        n_users=sum(part.n_users for part in parts),
        mean=mean,
        squares=squares,
        problems=problems,
    )


def from_dataset(dataset: RatingDataset) -> RatingsSummary:
    """Return what is known of ratings in files, which the agents read where they live."""

    def problems(centre: float, unobserved: float) -> Sequence[ProblemSource]:
        return completion_problems(dataset.parts, centre=centre, unobserved=unobserved)

    return RatingsSummary(
        items=dataset.items,
        counts=dataset.counts,
        lowest=dataset.lowest,
        highest=dataset.highest,
        n_agents=len(dataset.parts),
        n_users=dataset.n_users,
        mean=dataset.mean,
        squares=dataset.squares,
        problems=problems,
    )
