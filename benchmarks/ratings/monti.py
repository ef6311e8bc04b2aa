"""Reader of the splits of Monti, Bronstein and Bresson: Douban, Flixster and YahooMusic.

Each table is a file ``training_test_dataset.mat`` (MATLAB 7.3, that is HDF5), published with
"Geometric matrix completion with recurrent multi-graph neural networks" (NIPS 2017). ``M`` has the
ratings, users×items; ``Otraining`` and ``Otest`` are 1 at the entries of the two parts. HDF5 stores
the columns of MATLAB as rows, so a dense array is transposed here; a sparse one is a group of
``data``, ``ir`` (rows) and ``jc`` (where columns start).
"""

from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.ratings.splits import Split
from numpy.typing import NDArray

from grassvine.data.tables import RatingTable, ratings_from_arrays
from grassvine.foundations.errors import DataError
from grassvine.foundations.extras import load_extra
from grassvine.foundations.memory import require_memory

NAME = "training_test_dataset.mat"
ARRAYS = ("M", "Otraining", "Otest")
CELL_BYTES = 3 * 8  # of three dense arrays


def read_monti(path: str | Path) -> Split:
    """Read a file, or the folder that contains it."""
    file = Path(path) / NAME if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise DataError(f"{file} is absent; pass the folder of {NAME}.")
    h5py = load_extra("h5py", "reading MATLAB files", "bench")
    try:
        with h5py.File(file, "r") as stored:
            ratings, training, test = (_matrix(h5py, stored, name, file) for name in ARRAYS)
    except OSError as cause:
        raise DataError(f"{file} is not a MATLAB 7.3 file ({cause}); download it again.") from None
    for name, mask in (("Otraining", training), ("Otest", test)):
        if mask.shape != ratings.shape:
            raise DataError(f"{name} of {file} is {mask.shape}, and M {ratings.shape}; {_AGAIN}")
        if not np.isin(mask, (0.0, 1.0)).all():
            raise DataError(f"{name} of {file} has entries other than 0 and 1; {_AGAIN}")
        if not mask.any() or not (np.isfinite(ratings) & (ratings != 0.0))[mask > 0.0].all():
            raise DataError(
                f"{name} of {file} is empty or marks entries without a rating; {_AGAIN}"
            )
    if (training * test).any():
        raise DataError(f"Otraining and Otest of {file} overlap; {_AGAIN}")
    return _split(ratings, training > 0.0, test > 0.0)


_AGAIN = "download the file again."


def _matrix(h5py: Any, stored: Any, name: str, file: Path) -> NDArray[Any]:
    """Return an array, users×items."""
    if name not in stored:
        raise DataError(f"{file} has no array {name}; pass {NAME} of one of the three tables.")
    found = stored[name]
    if isinstance(found, h5py.Dataset):
        if found.ndim != 2:
            raise DataError(f"{name} of {file} has {found.ndim} dimensions, not 2; {_AGAIN}")
        require_memory(CELL_BYTES * found.size, f"{name} of {file}", DataError)
        return np.asarray(found, dtype=np.float64).T
    return _dense(found, name, file)


def _dense(group: Any, name: str, file: Path) -> NDArray[Any]:
    """Return a sparse array of MATLAB as a dense one."""
    if not {"data", "ir", "jc"} <= set(group) or "MATLAB_sparse" not in group.attrs:
        raise DataError(f"{name} of {file} is neither a dense nor a sparse array; {_AGAIN}")
    n_rows, starts = int(group.attrs["MATLAB_sparse"]), np.asarray(group["jc"], dtype=np.int64)
    rows = np.asarray(group["ir"], dtype=np.int64)
    values = np.asarray(group["data"], dtype=np.float64)
    require_memory(CELL_BYTES * n_rows * len(starts), f"{name} of {file}", DataError)
    counts = np.diff(starts)
    fits = len(rows) == len(values) == counts.sum() and (counts >= 0).all()
    if not fits or (len(rows) and not 0 <= rows.min() <= rows.max() < n_rows):
        raise DataError(f"the indices of {name} of {file} do not fit its shape; {_AGAIN}")
    whole = np.zeros((n_rows, len(counts)))
    whole[rows, np.repeat(np.arange(len(counts)), counts)] = values
    return whole


def _split(ratings: NDArray[Any], training: NDArray[Any], test: NDArray[Any]) -> Split:
    users, items = np.nonzero(training | test)
    table: RatingTable = ratings_from_arrays(users, items, ratings[users, items])
    return Split.by_mask("published", table, test[users, items])
