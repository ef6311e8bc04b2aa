"""Divide data among agents: the only place where that happens."""

from itertools import pairwise

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.data.tasks import Tasks
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import whole_number


def split_users(ratings: Ratings, n_agents: int) -> list[Ratings]:
    """Divide the users equally, in their order."""
    bounds = _equal_shares(ratings.n_users, "users", n_agents)
    return [ratings.take_users(first, last) for first, last in pairwise(bounds)]


def split_tasks(tasks: Tasks, n_agents: int) -> list[Tasks]:
    """Divide the tasks equally, in their order."""
    bounds = _equal_shares(tasks.n_tasks, "tasks", n_agents)
    return [tasks.take_tasks(first, last) for first, last in pairwise(bounds)]


def split_samples(samples: Array, n_agents: int) -> list[Array]:
    """Divide the rows equally, in their order."""
    bounds = _equal_shares(len(samples), "samples", n_agents)
    return [samples[first:last] for first, last in pairwise(bounds)]


def _equal_shares(total: int, things: str, n_agents: int) -> list[int]:
    why = f"there are {total} {things} and each agent needs one"
    whole_number("n_agents", n_agents, least=1, most=total, why=why, error=DataError)
    return [int(bound) for bound in np.linspace(0, total, n_agents + 1).round()]
