"""Labelled tables, and functions that read them from files, data frames and arrays."""

from grassvine.data.tables.export import safe_csv
from grassvine.data.tables.files import Table, read_table
from grassvine.data.tables.rating_input import (
    ratings_from_arrays,
    ratings_from_frame,
    ratings_from_frames,
    ratings_from_matrix,
)
from grassvine.data.tables.rating_table import RatingTable
from grassvine.data.tables.task_table import TaskTable, tasks_from_frame

__all__ = [
    "RatingTable",
    "Table",
    "TaskTable",
    "ratings_from_arrays",
    "ratings_from_frame",
    "ratings_from_frames",
    "ratings_from_matrix",
    "read_table",
    "safe_csv",
    "tasks_from_frame",
]
