"""Real data sets, where they are: never copied into the project."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.io

import grassvine as gv

FOLDER = Path(os.environ.get("GRASSVINE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def _file(name: str) -> Path:
    """A file of the folder, or a skip where it is absent."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"{path} is absent; set GRASSVINE_DATA to the folder of the data sets")
    return path


def movielens_100k() -> gv.Ratings:
    """The ratings of MovieLens 100K less their mean."""
    path = _file("ml-100k/u.data")
    user, item, rating, _ = np.loadtxt(path, dtype=np.int64).T
    return gv.Ratings.from_arrays(user - 1, item - 1, rating - rating.mean())


def school() -> gv.Tasks:
    """The 139 schools as distributed; the last column is the constant."""
    content = scipy.io.loadmat(_file("school/school.mat"))
    targets = [y.ravel() for y in content["Y"].ravel()]
    return gv.Tasks.from_arrays(list(content["X"].ravel()), targets)


def parkinsons() -> gv.Tasks:
    """The 42 patients: age, sex, time and the 16 voice columns; the target is total_UPDRS."""
    rows = np.loadtxt(_file("parkinsons/parkinsons_updrs.data"), delimiter=",", skiprows=1)
    features = np.delete(rows, [0, 4, 5], axis=1)
    patients = [rows[:, 0] == patient for patient in np.unique(rows[:, 0])]
    return gv.Tasks.from_arrays([features[p] for p in patients], [rows[p, 5] for p in patients])
