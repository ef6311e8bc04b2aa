"""Containers for ratings and tasks, their division, the paper's generators, published data sets."""

from grassvine.data.benchmarks import read_parkinsons, read_school
from grassvine.data.export import safe_csv
from grassvine.data.files import Table, read_table
from grassvine.data.ids import Ids
from grassvine.data.jester import read_jester
from grassvine.data.labelled import LabelledRatings
from grassvine.data.movielens import read_movielens
from grassvine.data.netflix import read_netflix
from grassvine.data.rating_dataset import RatingDataset
from grassvine.data.rating_files import read_ratings
from grassvine.data.rating_input import (
    ratings_from_arrays,
    ratings_from_frame,
    ratings_from_frames,
    ratings_from_matrix,
)
from grassvine.data.rating_part import RatingPart
from grassvine.data.rating_table import RatingTable
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
from grassvine.data.table_hash import table_hash
from grassvine.data.task_table import TaskTable, tasks_from_frame
from grassvine.data.tasks import Tasks

__all__ = [
    "SOURCES",
    "Ids",
    "LabelledRatings",
    "LowRankRatings",
    "RatingDataset",
    "RatingPart",
    "RatingTable",
    "Ratings",
    "Source",
    "SubspaceTasks",
    "Table",
    "TaskTable",
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
    "ratings_from_arrays",
    "ratings_from_frame",
    "ratings_from_frames",
    "ratings_from_matrix",
    "read_jester",
    "read_movielens",
    "read_netflix",
    "read_parkinsons",
    "read_ratings",
    "read_ratings_file",
    "read_school",
    "read_table",
    "safe_csv",
    "split_samples",
    "split_tasks",
    "split_users",
    "split_users_by_owner",
    "subspace_tasks",
    "table_hash",
    "tasks_from_frame",
]
