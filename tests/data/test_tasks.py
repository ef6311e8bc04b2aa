from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grassvine.data import Tasks
from grassvine.foundations.errors import DataError
from grassvine.foundations.seeds import stream

SIZES = (4, 1, 3)
FEATURES = [stream(0, "test", size).standard_normal((size, 2)) for size in SIZES]
TARGETS = [x @ [1.0, -2.0] for x in FEATURES]


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    array = array.copy()
    array.flags.writeable = False
    return array


LAYOUTS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "lists": lambda a: a.tolist(),
    "read-only": read_only,
    "big-endian": lambda a: a.astype(">f8"),
    "Fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
}


def with_bad(array: NDArray[Any], value: float) -> NDArray[Any]:
    array = array.copy()
    array.flat[-1] = value
    return array


def test_tasks_know_their_sizes() -> None:
    tasks = Tasks.from_arrays(FEATURES, TARGETS)
    assert (tasks.n_items, tasks.n_tasks, tasks.n_values) == (2, 3, 8)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_gives_the_same_bits_and_is_left_as_it_was(
    layout: Callable[[NDArray[Any]], Any],
) -> None:
    features, targets = ([layout(a) for a in arrays] for arrays in (FEATURES, TARGETS))
    tasks = Tasks.from_arrays(features, targets)
    kept = tasks.features + tasks.targets
    assert all(x.flags.c_contiguous for x in tasks.features)
    assert [a.tobytes() for a in kept] == [a.tobytes() for a in FEATURES + TARGETS]
    for given_array, before in zip(features + targets, FEATURES + TARGETS, strict=True):
        assert np.array_equal(np.asarray(given_array), before)


def test_single_precision_is_widened() -> None:
    features, targets = ([a.astype(np.float32) for a in given] for given in (FEATURES, TARGETS))
    tasks = Tasks.from_arrays(features, targets)
    for kept, single in zip(tasks.features + tasks.targets, features + targets, strict=True):
        assert kept.dtype == np.float64 and np.array_equal(kept, single)


def test_taken_tasks_are_those_requested() -> None:
    taken = Tasks.from_arrays(FEATURES, TARGETS).take_tasks(1, 3)
    assert [len(y) for y in taken.targets] == [1, 3]
    assert np.array_equal(taken.features[1], FEATURES[2])


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (FEATURES[:2], "features for 2 tasks and targets for 3; pass both for every task"),
        ([FEATURES[0], np.ones((1, 3)), FEATURES[2]], "matrix of task 1 has shape 1×3, not .*×2"),
        (
            [*FEATURES[:2], with_bad(FEATURES[2], np.nan)],
            "task 2 contains nan at row 2, column 1; ev",
        ),
        ([np.ones(4), *FEATURES[1:]], r"matrix of task 0 has shape \(4,\), .*; pass a 2-d array"),
        ([[["a", "b"]], *FEATURES[1:]], "matrix of task 0 cannot be converted to real numbers"),
    ],
)
def test_bad_features_are_refused(features: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Tasks.from_arrays(features, TARGETS)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([TARGETS[0], np.ones(2), TARGETS[2]], r"task 1 has 1 samples .* shape \(2,\); pass one t"),
        ([TARGETS[0][:, None], *TARGETS[1:]], r"task 0 has 4 samples .* shape \(4, 1\); pass one "),
        (
            [*TARGETS[:2], with_bad(TARGETS[2], np.nan)],
            "target 2 of task 2 is nan; remove such sam",
        ),
        ([["a"] * 4, *TARGETS[1:]], "target list of task 0 cannot be converted to real numbers"),
        ([with_bad(TARGETS[0], -np.inf), *TARGETS[1:]], "target 3 of task 0 is -inf; remove such"),
    ],
)
def test_bad_targets_are_refused(targets: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Tasks.from_arrays(FEATURES, targets)


def test_no_task_at_all_is_refused() -> None:
    with pytest.raises(DataError, match="there are no tasks; pass at least one"):
        Tasks.from_arrays([], [])
