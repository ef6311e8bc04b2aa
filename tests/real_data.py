"""Real data sets, where they are: never copied into the project."""

import os
from pathlib import Path

import numpy as np
import pytest

import grassvine as gv

FOLDER = Path(os.environ.get("GRASSVINE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def movielens_100k() -> gv.Ratings:
    """The ratings of MovieLens 100K less their mean, or a skip where the file is absent."""
    path = FOLDER / "ml-100k" / "u.data"
    if not path.is_file():
        pytest.skip(f"MovieLens 100K is not here: {path} is absent; set GRASSVINE_DATA")
    user, item, rating, _ = np.loadtxt(path, dtype=np.int64).T
    return gv.Ratings.from_arrays(user - 1, item - 1, rating - rating.mean())
