"""Real data sets, where they are: never copied into the project."""

import os
from pathlib import Path

import pytest

import grassvine as gv
from grassvine.datasets import read_movielens, read_parkinsons, read_school

FOLDER = Path(os.environ.get("GRASSVINE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def real_file(name: str) -> Path:
    """A file of the folder, or a skip where it is absent."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"{path} is absent; set GRASSVINE_DATA to the folder of the data sets")
    return path


def movielens_100k() -> gv.Ratings:
    """The ratings of MovieLens 100K less their mean."""
    ratings = read_movielens(real_file("ml-100k/u.data")).ratings
    centred = ratings.values - ratings.values.mean()
    return gv.Ratings(ratings.n_items, ratings.starts, ratings.items, centred)


def school() -> gv.Tasks:
    """The 139 schools as distributed; the last column is the constant."""
    return read_school(real_file("school/school.mat"))


def parkinsons() -> gv.Tasks:
    """The 42 patients: age, sex, time and the 16 voice columns; the target is total_UPDRS."""
    return read_parkinsons(real_file("parkinsons/parkinsons_updrs.data"))
