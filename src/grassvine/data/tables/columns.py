"""Identification of the columns of a table, by name or by position."""

import difflib
import re
from collections.abc import Sequence

from grassvine.foundations.errors import DataError, Option

# Each name also counts as "users", "userid" and "user ids".
ENTITY_NAMES = {
    "user": "user customer client member person reader reviewer visitor account patient",
    "item": "item movie film product book song track artist article joke game business anime sku",
}
OTHER_NAMES = {
    "user": "uid",
    "item": "iid asin isbn",
    "rating": "rating ratings score scores star stars value values grade mark vote overall",
    "time": "time times timestamp timestamps date datetime unixtime",
    "count": "count counts weight weights quantity amount clicks views plays playcount purchases",
}


def _known_names(role: str) -> set[str]:
    entities = ENTITY_NAMES.get(role, "").split()
    return {entity + ending for entity in entities for ending in ("", "s", "id", "ids")} | set(
        OTHER_NAMES[role].split()
    )


NAMES = {role: _known_names(role) for role in OTHER_NAMES}


def columns_by_role(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the names that are recognised, by role.

    Case, spaces and punctuation are ignored: ``User ID`` and ``user_id`` are the same.
    """
    bare = {name: re.sub(r"[\W_]+", "", name.casefold()) for name in names}
    found = {role: [name for name in names if bare[name] in NAMES[role]] for role in NAMES}
    return {role: those for role, those in found.items() if those}


def named_column(names: Sequence[str], name: str, what: str) -> str:
    """Return the name of a chosen column; raise an error if the table does not have it."""
    if name not in names:
        near = difflib.get_close_matches(str(name), names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "choose an existing column."
        raise DataError(f"there is no column {name!r} for the {what}s; {hint} {listing(names)}")
    return name


def guess_columns(
    names: Sequence[str], chosen: dict[str, str | None]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the column of each role, and the roles that were identified by position only.

    Roles that no name identifies are assigned to the other columns by position, if there is one
    for each. An extra last column of four is returned as ``time``; the caller must check it.

    Parameters
    ----------
    names : sequence of str
        The columns of a table.
    chosen : dict
        A column for each of ``user``, ``item`` and ``rating``, or None to identify it.
    """
    columns = {
        role: named_column(names, name, role) for role, name in chosen.items() if name is not None
    }
    if len(set(columns.values())) < len(columns):
        raise DataError(
            f"one column is chosen for several roles ({columns}); choose different columns."
        )
    free = [name for name in names if name not in columns.values()]
    recognised = columns_by_role(free)
    for role in chosen:
        if role in columns or role not in recognised:
            continue
        if len(recognised[role]) > 1:
            raise DataError(
                f"the columns {_quoted(recognised[role])} could all hold the {role}s; choose one "
                "with ",
                Option(role),
                f". {listing(names)}",
            )
        columns[role] = recognised[role][0]
    open_roles = [role for role in chosen if role not in columns]
    # Counts are not ratings: a table of user, item and count has no ratings.
    other = [
        *recognised.get("time", []),
        *(recognised.get("count", []) if "rating" in chosen else []),
    ]
    timeless = [name for name in free if name not in other]
    rest = [name for name in timeless if name not in columns.values()]
    if open_roles and len(names) == 4 and rest[len(open_roles) :] == [names[-1]]:
        columns["time"] = rest.pop()
    if open_roles and len(rest) != len(open_roles):
        raise unidentified(open_roles, names, "the table")
    columns.update(zip(open_roles, rest, strict=False))
    return columns, tuple(open_roles)


def unidentified(roles: Sequence[str], names: Sequence[str], table: str) -> DataError:
    """Return the error for roles that no column name identifies."""
    if list(roles) == ["rating"]:
        return DataError(
            f"no column name of {table} identifies the ratings; choose it with ",
            Option("rating"),
            ", or learn from clicks or purchases, which have none, by ImplicitRecommender "
            f"('grassvine implicit'). {listing(names)}",
        )
    *others, last = (f"{role}s" for role in roles)
    missing = f"{', '.join(others)} and {last}" if others else last
    return DataError(
        f"no column name of {table} identifies the {missing}; choose the columns with ",
        *option_list(roles),
        f". {listing(names)}",
    )


def option_list(names: Sequence[str]) -> list[str | Option]:
    """Return the parts of a message that enumerate options."""
    return [part for name in names for part in (Option(name), ", ")][:-1]


def listing(names: Sequence[str]) -> str:
    """Return a sentence that lists the columns of a table."""
    shown = _quoted(names[:20]) + (", …" if len(names) > 20 else "")
    return f"The columns are {shown}."


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
