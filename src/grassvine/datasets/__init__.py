"""Synthetic data, published data sets, and splits of both."""

from grassvine.data import (
    Ratings,
    Tasks,
    fold_ratings,
    fold_samples,
    hold_out_ratings,
    hold_out_samples,
    split_samples,
    split_tasks,
    split_users,
    split_users_by_owner,
)
from grassvine.datasets.event_files import read_events
from grassvine.datasets.jester import read_jester
from grassvine.datasets.movielens import read_movielens
from grassvine.datasets.multitask import read_parkinsons, read_school
from grassvine.datasets.netflix import read_netflix
from grassvine.datasets.rating_files import read_ratings
from grassvine.datasets.sources import SOURCES, Source
from grassvine.datasets.store import fetch, load_ratings, load_tasks, locate, read_ratings_file
from grassvine.datasets.synthetic import (
    LowRankRatings,
    SubspaceTasks,
    low_rank_ratings,
    subspace_tasks,
)

__all__ = [
    "SOURCES",
    "LowRankRatings",
    "Ratings",
    "Source",
    "SubspaceTasks",
    "Tasks",
    "fetch",
    "fold_ratings",
    "fold_samples",
    "hold_out_ratings",
    "hold_out_samples",
    "load_ratings",
    "load_tasks",
    "locate",
    "low_rank_ratings",
    "read_events",
    "read_jester",
    "read_movielens",
    "read_netflix",
    "read_parkinsons",
    "read_ratings",
    "read_ratings_file",
    "read_school",
    "split_samples",
    "split_tasks",
    "split_users",
    "split_users_by_owner",
    "subspace_tasks",
]
