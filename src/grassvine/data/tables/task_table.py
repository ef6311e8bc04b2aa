"""Tasks with their ids and feature names."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grassvine.data.ids import Ids, add_ids, as_column
from grassvine.data.places import places
from grassvine.data.tables.columns import listing, named_column
from grassvine.data.tables.files import Table
from grassvine.data.tables.frames import numbers_in, open_frame
from grassvine.data.tasks import Tasks
from grassvine.foundations.arrays import Array, Numbers
from grassvine.foundations.errors import DataError, noting

if TYPE_CHECKING:
    import narwhals


@dataclass(frozen=True, slots=True, eq=False)
class TaskTable:
    """Tasks, their ids and their feature names.

    Task t has the id ``ids.series[t]`` and feature k the name ``features[k]``; the samples of a
    task are in the order of the rows. ``assumed`` notes what was assumed or is unusual.
    """

    tasks: Tasks
    ids: Ids
    features: tuple[str, ...]
    assumed: tuple[str, ...] = ()

    def digest(self) -> str:
        """Return the SHA-256 of ids, features and samples, whatever the order of the rows."""
        digest = hashlib.sha256(b"grassvine tasks 1\n")
        add_ids(digest, self.ids)
        digest.update(repr(self.features).encode())
        for x, y in zip(self.tasks.features, self.tasks.targets, strict=True):
            samples = np.column_stack((x, y)) + 0.0
            in_order = samples[np.lexsort(samples.T)]
            digest.update(f"{in_order.shape}\n".encode() + in_order.astype("<f8").tobytes())
        return digest.hexdigest()


def tasks_from_frame(
    frame: Any, *, target: str, task: str, features: Sequence[str] | None = None
) -> TaskTable:
    """Build a task table from a data frame with one row per sample.

    Parameters
    ----------
    frame : data frame or Table
        A data frame of pandas, polars, pyarrow or another library that narwhals supports, or the
        result of :func:`read_table`. It is not modified.
    target : str
        Column to predict.
    task : str
        Column with the task of each sample.
    features : sequence of str, optional
        Columns to predict from; by default, all others.
    """
    read = frame if isinstance(frame, Table) else Table(frame)
    with noting(read.assumed):
        return _task_table(read, target, task, features)


def _task_table(read: Table, target: str, task: str, features: Sequence[str] | None) -> TaskTable:
    table = open_frame(read.frame)
    columns = table.columns
    named_column(columns, target, "target")
    named_column(columns, task, "task")
    names = _features(columns, target, task, features)
    ids, number = Ids.number(as_column(table[task].to_native(), "task", read.lines), "task")
    assumed = read.assumed
    if features is None:
        assumed += (f"The features are {', '.join(map(repr, names))}.",)
    x = np.column_stack(
        [_numbers(table, name, "feature", ids, number, read.lines) for name in names]
    )
    y = _numbers(table, target, "target", ids, number, read.lines)
    # a stable sort keeps the order of the rows within a task
    order = np.argsort(number, kind="stable")
    cuts = np.cumsum(np.bincount(number, minlength=len(ids)))[:-1]
    tasks = Tasks.from_arrays(np.split(x[order], cuts), np.split(y[order], cuts))
    return TaskTable(tasks, ids, names, assumed + _notes(tasks, ids, target))


def _features(
    columns: Sequence[str], target: str, task: str, chosen: Sequence[str] | None
) -> tuple[str, ...]:
    if isinstance(chosen, str):
        raise DataError(f"features is the string {chosen!r}; pass a list of columns.")
    if chosen is None:
        chosen = [name for name in columns if name not in (target, task)]
    names = tuple(named_column(columns, name, "feature") for name in chosen)
    if not names:
        raise DataError(
            "there are no features to predict from; choose at least one column besides target and "
            f"task. {listing(columns)}"
        )
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise DataError(f"the feature {repeated[0]!r} is listed twice; list it once.")
    if target == task or target in names or task in names:
        raise DataError(
            f"the target {target!r}, the task {task!r} and the features {list(names)} share a "
            "column; choose different columns."
        )
    return names


def _numbers(
    table: "narwhals.DataFrame[Any]",
    name: str,
    what: str,
    ids: Ids,
    number: Numbers,
    lines: Sequence[int] | None,
) -> Array:
    """Return a column of finite numbers; booleans become 0 and 1."""
    import narwhals

    column = table[name]
    if column.dtype == narwhals.Boolean:
        column = column.cast(narwhals.Int8)
    try:
        values = numbers_in(column, f"values in column {name!r}", lines)
    except DataError as cause:
        hint = " Or exclude this column from the features." if what == "feature" else ""
        raise DataError(*cause.args, hint) from None
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        one = ids.series[int(number[bad[0]])]
        raise DataError(
            f"the {what} {name!r} is missing, NaN or infinite in {len(bad)} of {len(values)} rows "
            f"({places(bad, lines)}; the first belongs to task {one!r}); remove those rows "
            "or fill in the values."
        )
    return values


def _notes(tasks: Tasks, ids: Ids, target: str) -> tuple[str, ...]:
    """Return notes on tasks whose test error cannot be measured."""
    single = [t for t, y in enumerate(tasks.targets) if len(y) == 1]
    constant = [t for t, y in enumerate(tasks.targets) if len(y) > 1 and np.ptp(y) == 0]
    notes = []
    if single:
        notes.append(f"{_listed(ids, single)} only one row; none can be held out.")
    if constant:
        notes.append(
            f"{_listed(ids, constant)} the same {target!r} in every row; an error relative to its "
            "variance is undefined."
        )
    return tuple(notes)


def _listed(ids: Ids, numbers: list[int]) -> str:
    shown = ", ".join(repr(one) for one in ids.at(np.array(numbers[:3])))
    if len(numbers) == 1:
        return f"Task {shown} has"
    return f"{len(numbers)} tasks ({shown}{', …' if len(numbers) > 3 else ''}) have"
