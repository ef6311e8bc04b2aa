"""Readers of two multitask benchmarks: London schools and Parkinson's telemonitoring."""

import os
from typing import Any

import numpy as np

from grassvine.data.tasks import Tasks
from grassvine.datasets.published_text import as_real, blocks, complete, first_line, one_file, parse
from grassvine.foundations.arrays import as_matrix
from grassvine.foundations.errors import DataError

SCHOOL_FILES = ("school.mat",)
N_SCHOOL_FEATURES = 28

PARKINSONS_FILES = ("parkinsons_updrs.data",)
VOICE = (
    *("Jitter(%)", "Jitter(Abs)", "Jitter:RAP", "Jitter:PPQ5", "Jitter:DDP"),
    *("Shimmer", "Shimmer(dB)", "Shimmer:APQ3", "Shimmer:APQ5", "Shimmer:APQ11", "Shimmer:DDA"),
    *("NHR", "HNR", "RPDE", "DFA", "PPE"),
)
SUBJECT, MOTOR, TOTAL = "subject#", "motor_UPDRS", "total_UPDRS"
PARKINSONS_COLUMNS = [SUBJECT, "age", "sex", "test_time", MOTOR, TOTAL, *VOICE]


def read_school(path: str | os.PathLike[str]) -> Tasks:
    """Read the examination scores of 139 schools.

    A task is a school and a sample is a student; the last of the 28 features is the constant 1.

    Parameters
    ----------
    path : path
        ``school.mat`` with the cell arrays X and Y, or a folder that contains it directly or one
        level deeper.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> from grassvine.datasets import read_school
    >>> X, Y = np.empty((1, 2), object), np.empty((1, 2), object)
    >>> for school in range(2):
    ...     X[0, school], Y[0, school] = np.ones((3, 28)), np.ones((3, 1))
    >>> savemat("school.mat", {"X": X, "Y": Y})
    >>> read_school("school.mat").n_tasks
    2
    """
    file = one_file(path, SCHOOL_FILES, "School")
    features, targets = _cells(file, "X"), _cells(file, "Y")
    try:
        tasks = Tasks.from_arrays(features, [np.ravel(target) for target in targets])
    except DataError as cause:
        raise DataError(f"{file} is not the School data set: {cause}") from None
    if tasks.n_items != N_SCHOOL_FEATURES:
        raise DataError(
            f"{file} has {tasks.n_items} features, not {N_SCHOOL_FEATURES}; download it again."
        )
    for number, matrix in enumerate(tasks.features):
        if not (matrix[:, -1] == 1.0).all():
            raise DataError(
                f"the last feature of task {number} in {file} is not constant 1; download it again."
            )
    return tasks


def _cells(file: os.PathLike[str], name: str) -> list[Any]:
    """Return a cell array of a MATLAB file."""
    import scipy.io

    try:
        content = scipy.io.loadmat(file, variable_names=[name])
    except Exception as cause:  # scipy raises a dozen types for broken files
        raise DataError(
            f"cannot read {file} as MATLAB ({type(cause).__name__}: {cause}); download it again."
        ) from None
    cells = content.get(name)
    if cells is None or cells.dtype != np.object_:
        raise DataError(f"{file} has no cell array {name}; pass school.mat of MALSAR.")
    return list(cells.ravel())


def read_parkinsons(path: str | os.PathLike[str]) -> Tasks:
    r"""Read the telemonitoring data of 42 patients.

    A task is a patient, ordered by subject number. The target is total_UPDRS; the features are age,
    sex, test_time and the 16 voice measures.

    Parameters
    ----------
    path : path
        ``parkinsons_updrs.data``, or a folder that contains it directly or one level deeper.

    Examples
    --------
    >>> from pathlib import Path
    >>> from grassvine.datasets.multitask import PARKINSONS_COLUMNS, read_parkinsons
    >>> rows = [",".join(PARKINSONS_COLUMNS)] + [",".join(["1", *["0.5"] * 21])] * 3
    >>> _ = Path("parkinsons_updrs.data").write_text("\n".join(rows) + "\n")
    >>> tasks = read_parkinsons("parkinsons_updrs.data")
    >>> tasks.n_tasks, tasks.n_items, tasks.n_values
    (1, 19, 3)
    """
    import polars as pl

    file = one_file(path, PARKINSONS_FILES, "Parkinsons telemonitoring")
    header = first_line(file).decode("latin-1").strip().split(",")
    if header != PARKINSONS_COLUMNS:
        unexpected = next((h for h in header if h not in PARKINSONS_COLUMNS), "another order")
        raise DataError(
            f"the header of {file} is not that of Parkinsons telemonitoring (it has {unexpected!r} "
            f"and {len(header)} columns, not {len(PARKINSONS_COLUMNS)}); download the file again."
        )
    parts: list[pl.DataFrame] = []
    for block in blocks(file, skip=1):
        frame = complete(parse(block.data, dict.fromkeys(header, pl.Float64), ","))
        if frame is None or not np.isfinite(frame.to_numpy()).all():
            block.refuse(_fault)
        parts.append(frame)
    if not parts:
        raise DataError(f"{file} contains a header but no samples; download it again.")
    table = pl.concat(parts)
    subject, target = table[SUBJECT].to_numpy(), table[TOTAL].to_numpy()
    features = as_matrix(table.drop(SUBJECT, MOTOR, TOTAL).to_numpy(), error=DataError)
    patients = [subject == number for number in np.unique(subject)]
    return Tasks.from_arrays([features[p] for p in patients], [target[p] for p in patients])


def _fault(line: bytes) -> str | None:
    """Return what is wrong with a line, or None."""
    fields = line.split(b",")
    if len(fields) != len(PARKINSONS_COLUMNS):
        return f"has {len(fields)} columns, not {len(PARKINSONS_COLUMNS)}"
    if not np.isfinite([as_real(field) for field in fields]).all():
        return "has a field that is not a finite number"
    return None
