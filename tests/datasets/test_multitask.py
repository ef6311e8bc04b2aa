import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st
from tests.real_data import real_file

from grassvine.datasets import published_text, read_parkinsons, read_school
from grassvine.datasets.multitask import PARKINSONS_COLUMNS
from grassvine.foundations.errors import DataError
from grassvine.foundations.seeds import stream


def school_cells(sizes: list[int]) -> dict[str, Any]:
    rng = stream(0, "data", "school")
    x, y = np.empty((1, len(sizes)), object), np.empty((1, len(sizes)), object)
    for task, size in enumerate(sizes):
        x[0, task] = rng.integers(0, 200, (size, 28), dtype=np.uint8)
        x[0, task][:, -1] = 1
        y[0, task] = rng.integers(1, 71, (size, 1), dtype=np.uint8)
    return {"X": x, "Y": y}


def test_schools_are_read_as_floats(tmp_path: Path) -> None:
    cells = school_cells([4, 7, 2])
    scipy.io.savemat(tmp_path / "school.mat", cells, do_compression=True)
    for path in (tmp_path, tmp_path / "school.mat"):
        tasks = read_school(path)
        assert (tasks.n_tasks, tasks.n_values, tasks.n_items) == (3, 13, 28)
        for task in range(3):
            assert tasks.features[task].dtype == tasks.targets[task].dtype == np.float64
            assert np.array_equal(tasks.features[task], cells["X"][0, task])
            assert np.array_equal(tasks.targets[task], cells["Y"][0, task][:, 0])


def without_constant(cells: dict[str, Any]) -> None:
    cells["X"][0, 1][2, -1] = 0


def with_a_sample_less(cells: dict[str, Any]) -> None:
    cells["Y"][0, 1] = cells["Y"][0, 1][1:]


def with_a_task_less(cells: dict[str, Any]) -> None:
    cells["Y"] = cells["Y"][:, 1:]


def with_a_column_less(cells: dict[str, Any]) -> None:
    for task, matrix in enumerate(cells["X"][0]):
        cells["X"][0, task] = matrix[:, 1:]


def without_targets(cells: dict[str, Any]) -> None:
    del cells["Y"]


def with_plain_features(cells: dict[str, Any]) -> None:
    cells["X"] = np.zeros((3, 28))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_constant, "last feature of task 1 in .*school.mat is not constant 1; download"),
        (
            with_a_sample_less,
            "school.mat is not the School data set: task 1 has 7 samples and targets of shape",
        ),
        (
            with_a_task_less,
            "is not the School data set: got features for 3 tasks and targets for 2",
        ),
        (with_a_column_less, "school.mat has 27 features, not 28; download it again"),
        (without_targets, "school.mat has no cell array Y; pass school.mat of MALSAR"),
        (with_plain_features, "school.mat has no cell array X; pass school.mat of MALSAR"),
    ],
)
def test_other_schools_are_refused(tmp_path: Path, change: Any, message: str) -> None:
    cells = school_cells([4, 7, 2])
    change(cells)
    scipy.io.savemat(tmp_path / "school.mat", cells)
    with pytest.raises(DataError, match=message):
        read_school(tmp_path)


@pytest.mark.parametrize("content", [b"", b"X,Y\n1,2\n", b"<html>" * 99, b"\0" * 400])
def test_what_is_no_matlab_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "school.mat").write_bytes(content)
    with pytest.raises(DataError, match=r"cannot read .*school\.mat as MATLAB \(|no cell array X"):
        read_school(tmp_path)


@pytest.mark.parametrize("packed", [False, True])
def test_a_matlab_file_cut_off_anywhere_is_refused(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "school.mat"
    scipy.io.savemat(path, school_cells([4, 7, 2]), do_compression=packed)
    whole = path.read_bytes()
    for length in [*range(0, 160, 5), *range(160, len(whole), 37), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"cannot read .* as MATLAB \(|has no cell array"):
            read_school(path)


HEADER = ",".join(PARKINSONS_COLUMNS)


def patient_line(subject: int, first: float) -> str:
    return ",".join([str(subject), *(str(first + k / 8) for k in range(1, 22))])


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(-99, 99)), min_size=1, max_size=12),
    st.sampled_from([1, 300, 2**25]),
)
def test_patients_are_tasks_in_the_order_of_their_numbers(
    rows: list[tuple[int, int]], block: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(published_text, "BLOCK", block)
        lines = [HEADER, *(patient_line(*row) for row in rows)]
        (Path(folder) / "parkinsons_updrs.data").write_text("\n".join(lines))
        tasks = read_parkinsons(folder)
    subjects = sorted({subject for subject, _ in rows})
    assert tasks.n_tasks == len(subjects) and tasks.n_items == 19
    # Column k is k/8 more than the first; features are columns 1 to 3 and 6 to 21, target is 5.
    steps = np.array([1, 2, 3, *range(6, 22)]) / 8
    for task, subject in enumerate(subjects):
        first = np.array([value for number, value in rows if number == subject], float)
        assert np.array_equal(tasks.features[task], first[:, None] + steps)
        assert np.array_equal(tasks.targets[task], first + 5 / 8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{HEADER}\n{patient_line(1, 2)},5\n", "line 2 of .* has 23 columns, not 22"),
        (f"{HEADER}\n{patient_line(1, 2)}\n1,2,3", "line 3 of .* has 3 columns, not 22"),
        (f"{HEADER}\n{patient_line(1, 2)[:-3]}x", "line 2 of .* field that is not a finite number"),
        (f"{HEADER}\n{patient_line(1, np.nan)}", "line 2 of .* field that is not a finite number"),
        (f"{HEADER}\n", "contains a header but no samples; download it again"),
        (HEADER.replace("sex", "gender"), r"is not that of Parkinsons .*'gender' and 22 columns"),
        (HEADER[:-4], "is not that of Parkinsons .*'another order' and 21 columns, not 22"),
        (patient_line(1, 2), "the header of .* is not that of Parkinsons telemonitoring"),
        ("", "parkinsons_updrs.data is empty"),
        ("<html></html>", "is a web page"),
    ],
)
def test_other_patients_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "parkinsons_updrs.data").write_text(content)
    with pytest.raises(DataError, match=message):
        read_parkinsons(tmp_path)


def test_the_published_patients_are_read_as_numpy_reads_them() -> None:
    path = real_file("parkinsons/parkinsons_updrs.data")
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    tasks = read_parkinsons(path)
    for task, subject in enumerate(np.unique(rows[:, 0])):
        mine = rows[rows[:, 0] == subject]
        assert np.array_equal(tasks.features[task], np.delete(mine, [0, 4, 5], axis=1))
        assert np.array_equal(tasks.targets[task], mine[:, 5])
