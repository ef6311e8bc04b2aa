"""Owners of samples: a column of the table, an id for each sample, or a table for each owner."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from grassvine.data import Ids
from grassvine.data.tables.columns import named_column
from grassvine.data.tables.conversion import is_frame
from grassvine.data.tables.frames import open_frame
from grassvine.foundations.arrays import Array, Numbers
from grassvine.foundations.errors import DataError


def samples_and_owners(given: Any, agents: Any, owners: Any) -> tuple[Any, Any]:
    """Return samples without a column of owners, and the owner of each sample, or None.

    Parameters
    ----------
    given : data frame, array, or list of them
        A list has one table per owner.
    agents : int or str
        If text, the column with the owners.
    owners : array-like or None
        The owner of each sample.
    """
    by_column = isinstance(agents, str)
    if is_list_of_tables(given):
        if by_column or owners is not None:
            raise DataError(
                "owners are given twice, by a list of tables and by "
                f"{f'agents={agents!r}' if by_column else 'owners'}; omit one."
            )
        return stacked(given), np.repeat(np.arange(len(given)), [len(table) for table in given])
    if not by_column:
        return given, owners
    if owners is not None:
        raise DataError(f"owners are given twice, by agents={agents!r} and by owners; omit one.")
    if not is_frame(given):
        raise DataError(
            f"agents is {agents!r}, the name of a column, but X is a {type(given).__name__}; pass "
            "a data frame, a number of agents, or owners=… with the owner of each sample."
        )
    table = open_frame(given)
    name = named_column(table.columns, agents, "owner")
    return table.drop(name).to_native(), table[name].to_native()


def without_owners(given: Any, agents: Any) -> Any:
    """Return samples to transform as one table, without the column of owners, if there is one."""
    if is_list_of_tables(given):
        return stacked(given)
    if isinstance(agents, str) and is_frame(given):
        return open_frame(given).drop(agents, strict=False).to_native()
    return given


def split_by_owner(samples: Array, owners: Any) -> tuple[list[Array], Ids]:
    """Return the samples of each owner, in the order of the ids, and the ids."""
    ids, numbers = Ids.number(owners, "owner")
    if len(numbers) != len(samples):
        raise DataError(
            f"there are {len(samples)} samples but {len(numbers)} owners; pass one per sample."
        )
    return [_rows(samples, numbers, agent) for agent in range(len(ids))], ids


def is_list_of_tables(given: Any) -> bool:
    """Return whether an object is a list of two-dimensional tables rather than of rows."""
    return (
        isinstance(given, list | tuple)
        and bool(given)
        and all(len(getattr(table, "shape", ())) == 2 for table in given)
    )


def stacked(tables: Sequence[Any]) -> Any:
    """Return the rows of all tables as one table; they must have the same columns."""
    if not all(map(is_frame, tables)):
        widths = [table.shape[1] for table in tables]
        for number, width in enumerate(widths):
            if width != widths[0]:
                raise DataError(
                    f"table {number} has {width} features and table 0 has {widths[0]}; pass tables "
                    "with the same features."
                )
        return np.vstack([np.asarray(table) for table in tables])
    import narwhals

    opened = [open_frame(table) for table in tables]
    names = opened[0].columns
    for number, table in enumerate(opened):
        if sorted(table.columns) != sorted(names):
            odd = sorted(set(table.columns) ^ set(names))[0]
            raise DataError(
                f"tables 0 and {number} have different columns, such as {odd!r}; pass tables with "
                "the same columns."
            )
    return narwhals.concat([table.select(names) for table in opened], how="vertical").to_native()


def _rows(samples: Array, numbers: Numbers, agent: int) -> Array:
    return np.ascontiguousarray(samples[numbers == agent])
