"""Files in the format of Monti's splits are read, and others are refused in one sentence."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.ratings.monti import NAME, read_monti
from numpy.typing import NDArray

from grassvine.foundations.errors import DataError

h5py = pytest.importorskip("h5py", reason="h5py reads MATLAB files; install the extra bench")

Masks = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def arrays() -> Masks:
    """Five users and four items; ratings from 1 to 5, some of them in neither part."""
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (5, 4)) * (rng.random((5, 4)) < 0.8)
    training = (ratings > 0) & (rng.random((5, 4)) < 0.6)
    test = (ratings > 0) & ~training & (rng.random((5, 4)) < 0.8)
    return ratings.astype(float), training.astype(float), test.astype(float)


def write(path: Path, given: Masks, *, sparse: bool = False) -> Path:
    """Write arrays as MATLAB does: columns as rows, or compressed columns."""
    with h5py.File(path / NAME, "w") as file:
        for name, array in zip(("M", "Otraining", "Otest"), given, strict=True):
            if not sparse:
                file[name] = array.T
                continue
            columns, rows = np.nonzero(array.T)
            group = file.create_group(name)
            group.attrs["MATLAB_sparse"] = np.uint64(array.shape[0])
            group["data"], group["ir"] = array[rows, columns], rows.astype(np.uint64)
            counts = np.bincount(columns, minlength=array.shape[1])
            group["jc"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
    return path


@pytest.mark.parametrize("sparse", [False, True])
def test_both_parts_are_read(tmp_path: Path, sparse: bool) -> None:
    given = arrays()
    split = read_monti(write(tmp_path, given, sparse=sparse))
    for part, mask in ((split.train, given[1]), (split.test, given[2])):
        found = np.zeros((5, 4))
        users = part.users.at(part.ratings.users_of_values()).to_numpy()
        found[users, part.items.at(part.ratings.items).to_numpy()] = part.ratings.values
        np.testing.assert_array_equal(found, given[0] * mask)


def test_what_is_not_such_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is absent"):
        read_monti(tmp_path)
    (tmp_path / NAME).write_bytes(b"MATLAB 5.0 MAT-file")
    with pytest.raises(DataError, match=r"is not a MATLAB 7\.3 file"):
        read_monti(tmp_path)


def test_parts_that_overlap_or_lack_ratings_are_refused(tmp_path: Path) -> None:
    ratings, training, test = arrays()
    with pytest.raises(DataError, match=r"Otraining and Otest of .* overlap"):
        read_monti(write(tmp_path, (ratings, training, training)))
    with pytest.raises(DataError, match="marks entries without a rating"):
        read_monti(write(tmp_path, (ratings * test, training, test)))
    with pytest.raises(DataError, match="entries other than 0 and 1"):
        read_monti(write(tmp_path, (ratings, 2.0 * training, test)))
    with pytest.raises(DataError, match=r"Otest of .* is \(5, 3\), and M \(5, 4\)"):
        read_monti(write(tmp_path, (ratings, training, test[:, :3])))


def test_a_file_without_an_array_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / NAME, "w") as file:
        file["M"] = np.ones((2, 2))
    with pytest.raises(DataError, match="has no array Otraining"):
        read_monti(tmp_path)


def test_indices_out_of_range_are_refused(tmp_path: Path) -> None:
    write(tmp_path, arrays(), sparse=True)
    with h5py.File(tmp_path / NAME, "r+") as file:
        file["M/ir"][0] = 99
    with pytest.raises(DataError, match="do not fit its shape"):
        read_monti(tmp_path)
