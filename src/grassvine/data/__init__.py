"""Containers for ratings, tasks and ids, and functions that split them."""

from grassvine.data.ids import Ids
from grassvine.data.ratings import Ratings
from grassvine.data.split import (
    fold_ratings,
    fold_samples,
    hold_out_of_users,
    hold_out_ratings,
    hold_out_samples,
    split_samples,
    split_tasks,
    split_users,
    split_users_by_owner,
)
from grassvine.data.tasks import Tasks

__all__ = [
    "Ids",
    "Ratings",
    "Tasks",
    "fold_ratings",
    "fold_samples",
    "hold_out_of_users",
    "hold_out_ratings",
    "hold_out_samples",
    "split_samples",
    "split_tasks",
    "split_users",
    "split_users_by_owner",
]
