"""Containers for ratings and tasks, how they are divided, and the paper's generators."""

from grassvine.data.ratings import Ratings
from grassvine.data.split import split_samples, split_tasks, split_users
from grassvine.data.synthetic import LowRankRatings, SubspaceTasks, low_rank_ratings, subspace_tasks
from grassvine.data.tasks import Tasks

__all__ = [
    "LowRankRatings",
    "Ratings",
    "SubspaceTasks",
    "Tasks",
    "low_rank_ratings",
    "split_samples",
    "split_tasks",
    "split_users",
    "subspace_tasks",
]
