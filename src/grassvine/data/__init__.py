"""Containers for ratings and tasks, their division, the paper's generators, published data sets."""

from grassvine.data.benchmarks import read_parkinsons, read_school
from grassvine.data.jester import read_jester
from grassvine.data.labelled import LabelledRatings
from grassvine.data.movielens import read_movielens
from grassvine.data.netflix import read_netflix
from grassvine.data.ratings import Ratings
from grassvine.data.sources import SOURCES, Source
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
from grassvine.data.store import fetch, load_ratings, load_tasks, locate, read_ratings_file
from grassvine.data.synthetic import LowRankRatings, SubspaceTasks, low_rank_ratings, subspace_tasks
from grassvine.data.tasks import Tasks

__all__ = [
    "SOURCES",
    "LabelledRatings",
    "LowRankRatings",
    "Ratings",
    "Source",
    "SubspaceTasks",
    "Tasks",
    "fetch",
    "fold_ratings",
    "fold_samples",
    "hold_out_of_users",
    "hold_out_ratings",
    "hold_out_samples",
    "load_ratings",
    "load_tasks",
    "locate",
    "low_rank_ratings",
    "read_jester",
    "read_movielens",
    "read_netflix",
    "read_parkinsons",
    "read_ratings_file",
    "read_school",
    "split_samples",
    "split_tasks",
    "split_users",
    "split_users_by_owner",
    "subspace_tasks",
]
