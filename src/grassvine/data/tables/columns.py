"""Which column of a table is which, told by its name, else by its place."""

import re
from collections.abc import Sequence

from grassvine.foundations.errors import DataError, unknown

# Each also as "users", "userid" and "user ids".
THINGS = {
    "user": "user customer client member person reader reviewer visitor account patient",
    "item": "item movie film product book song track artist article joke game business anime sku",
}
OTHERS = {
    "user": "uid",
    "item": "iid asin isbn",
    "rating": "rating ratings score scores star stars value values grade mark vote overall",
    "time": "time times timestamp timestamps date datetime unixtime",
}


def _known_names(role: str) -> set[str]:
    things = THINGS.get(role, "").split()
    return {thing + ending for thing in things for ending in ("", "s", "id", "ids")} | set(
        OTHERS[role].split()
    )


NAMES = {role: _known_names(role) for role in OTHERS}


def telling(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the names that tell what their column is, by role.

    Upper case, spaces and signs do not count: ``User ID`` and ``user_id`` are the same.
    """
    bare = {name: re.sub(r"[\W_]+", "", name.casefold()) for name in names}
    found = {role: [name for name in names if bare[name] in NAMES[role]] for role in NAMES}
    return {role: those for role, those in found.items() if those}


def named_column(names: Sequence[str], name: str, what: str) -> str:
    """Return the name of a column that somebody chose, if it is there."""
    if name not in names:
        raise DataError(
            f"there is no column {name!r} for the {what}s: {unknown('column', name, names)} "
            f"{listing(names)}"
        )
    return name


def guess_columns(
    names: Sequence[str], chosen: dict[str, str | None]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the columns of users, items and ratings, and those roles that only their place told.

    Place decides where three columns are left for the three roles; a fourth and last one is then
    returned as ``time``, and its content must bear that out.

    Parameters
    ----------
    names : sequence of str
        The columns of a table.
    chosen : dict
        For each of ``user``, ``item`` and ``rating`` a column, or None where it is to be guessed.
    """
    columns = {
        role: named_column(names, name, role) for role, name in chosen.items() if name is not None
    }
    if len(set(columns.values())) < len(columns):
        raise DataError(f"one column is given for two things ({columns}); give different ones.")
    free = [name for name in names if name not in columns.values()]
    told = telling(free)
    for role in chosen:
        if role in columns or role not in told:
            continue
        if len(told[role]) > 1:
            raise DataError(
                f"the columns {_quoted(told[role])} may all be the {role}s; say {role}= one of "
                f"them. {listing(names)}"
            )
        columns[role] = told[role][0]
    open_roles = [role for role in chosen if role not in columns]
    timeless = [name for name in free if name not in told.get("time", [])]
    rest = [name for name in timeless if name not in columns.values()]
    if open_roles and len(names) == 4 and rest[len(open_roles) :] == [names[-1]]:
        columns["time"] = rest.pop()
    if open_roles and len(rest) != len(open_roles):
        missing = " and ".join(f"{role}s" for role in open_roles)
        options = ", ".join(f"{role}=" for role in open_roles)
        raise DataError(
            f"no column is named as that of the {missing}; say which it is ({options}). "
            f"{listing(names)}"
        )
    columns.update(zip(open_roles, rest, strict=False))
    return columns, tuple(open_roles)


def listing(names: Sequence[str]) -> str:
    """Name the columns of a table."""
    shown = _quoted(names[:20]) + (", …" if len(names) > 20 else "")
    return f"The columns are {shown}."


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
