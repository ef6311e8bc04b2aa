"""Tasks with the ids and the names of features under which a table holds them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grassvine.data.ids import Ids, add_ids
from grassvine.data.tables.columns import listing, named_column
from grassvine.data.tables.files import Table
from grassvine.data.tables.frames import numbers_in, open_frame
from grassvine.data.tasks import Tasks
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.errors import DataError

if TYPE_CHECKING:
    import narwhals


@dataclass(frozen=True, slots=True, eq=False)
class TaskTable:
    """Tasks, and the ids behind their numbers.

    Task number t of the tasks is ``ids.series[t]``, feature number k is ``features[k]``; the
    samples of a task are in the order of the rows. ``assumed`` says what was assumed or is odd.
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
    """Take tasks from a table with a row for each sample.

    Parameters
    ----------
    frame : data frame or Table
        Of pandas, polars, pyarrow or any other library that narwhals knows, or what
        :func:`read_table` returned. It is not modified.
    target : str
        The column of what is to be predicted.
    task : str
        The column that tells which task a sample belongs to.
    features : sequence of str, optional
        The columns to predict from; all others, unless told.
    """
    read = frame if isinstance(frame, Table) else Table(frame)
    table = open_frame(read.frame)
    columns = table.columns
    named_column(columns, target, "target")
    named_column(columns, task, "task")
    names = _features(columns, target, task, features)
    ids, number = Ids.number(table[task].to_native(), "task")
    assumed = read.assumed
    if features is None:
        assumed += (f"The features are {', '.join(map(repr, names))}.",)
    x = np.column_stack([_numbers(table, name, "feature", ids, number) for name in names])
    y = _numbers(table, target, "target", ids, number)
    # a stable sort keeps the order of the rows within a task
    order = np.argsort(number, kind="stable")
    cuts = np.cumsum(np.bincount(number, minlength=len(ids)))[:-1]
    tasks = Tasks.from_arrays(np.split(x[order], cuts), np.split(y[order], cuts))
    return TaskTable(tasks, ids, names, assumed + _oddities(tasks, ids, target))


def _features(
    columns: Sequence[str], target: str, task: str, chosen: Sequence[str] | None
) -> tuple[str, ...]:
    if isinstance(chosen, str):
        raise DataError(f"features is the text {chosen!r}; give a list of columns.")
    if chosen is None:
        chosen = [name for name in columns if name not in (target, task)]
    names = tuple(named_column(columns, name, "feature") for name in chosen)
    if not names:
        raise DataError(f"there is no feature left to predict from. {listing(columns)}")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataError(f"the feature {twice[0]!r} is named twice; name it once.")
    if target == task or target in names or task in names:
        raise DataError(
            f"the target {target!r}, the task {task!r} and the features {list(names)} share a "
            "column; give different ones."
        )
    return names


def _numbers(
    table: "narwhals.DataFrame[Any]", name: str, what: str, ids: Ids, number: Indices
) -> Array:
    """A column of finite numbers; truth values are 0 and 1."""
    import narwhals

    column = table[name]
    if column.dtype == narwhals.Boolean:
        column = column.cast(narwhals.Int8)
    try:
        values = numbers_in(column, f"values in column {name!r}")
    except DataError as cause:
        others = " Or name the features without it." if what == "feature" else ""
        raise DataError(f"{cause}{others}") from None
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        rows = ", ".join(map(str, bad[:3])) + (", …" if len(bad) > 3 else "")
        one = ids.series[int(number[bad[0]])]
        raise DataError(
            f"the {what} {name!r} is missing, NaN or infinite in {len(bad)} rows (at {rows}, "
            f"counted from 0; the first belongs to task {one!r}); leave those rows out, or fill "
            "them in."
        )
    return values


def _oddities(tasks: Tasks, ids: Ids, target: str) -> tuple[str, ...]:
    """What can be learned from, but hardly or not be judged by."""
    lonely = [t for t, y in enumerate(tasks.targets) if len(y) == 1]
    constant = [t for t, y in enumerate(tasks.targets) if len(y) > 1 and np.ptp(y) == 0]
    said = []
    if lonely:
        said.append(f"{_listed(ids, lonely)} one row only; none can be held out.")
    if constant:
        said.append(
            f"{_listed(ids, constant)} the same {target!r} in every row; an error relative to its "
            "variance does not exist."
        )
    return tuple(said)


def _listed(ids: Ids, numbers: list[int]) -> str:
    shown = ", ".join(repr(one) for one in ids.at(np.array(numbers[:3])))
    if len(numbers) == 1:
        return f"Task {shown} has"
    return f"{len(numbers)} tasks ({shown}{', …' if len(numbers) > 3 else ''}) have"
