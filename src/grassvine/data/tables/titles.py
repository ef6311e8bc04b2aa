"""Titles of items, for people who read recommendations."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from grassvine.data.ids import as_column
from grassvine.data.tables.columns import columns_by_role
from grassvine.data.tables.files import read_table
from grassvine.data.tables.frames import open_frame
from grassvine.foundations.errors import DataError, Option

if TYPE_CHECKING:
    import polars as pl

# A data frame, a file of one, or {item: title}.
Titles: TypeAlias = Any
NAMES = ("title", "name", "label", "text", "description")
ENCODINGS = (None, "latin-1")  # the published files of MovieLens are not in UTF-8


def read_titles(titles: Titles) -> "pl.DataFrame":
    """Return the ids of items and their titles, in columns item and title.

    The ids are in the column whose name says so, otherwise the first; the titles in the column
    named ``title``, ``name`` or the like, otherwise in the first other column of text.
    """
    import polars as pl

    if isinstance(titles, Mapping):
        ids, texts = list(titles), [str(title) for title in titles.values()]
        found = pl.DataFrame(
            {"item": as_column(ids, "item"), "title": pl.Series(texts, dtype=pl.String)}
        )
        return found.unique("item", keep="first", maintain_order=True)
    frame = _read(titles) if isinstance(titles, str | os.PathLike) else titles
    table = open_frame(frame)
    names = table.columns
    items = columns_by_role(names).get("item", [])
    item = next((name for name in items if name.casefold() not in NAMES), names[0])
    others = [name for name in names if name != item]
    named = [name for name in others if name.casefold().replace("movie", "").strip() in NAMES]
    text = [name for name in others if not table[name].dtype.is_numeric()]
    title = next(iter([*named, *text]), None)
    if title is None:
        raise DataError(
            f"the table of titles has the columns {', '.join(map(repr, names))}, and none of them "
            "is text besides the ids; pass a table with an id and a title per row."
        )
    given = [None if one is None else str(one) for one in table[title].to_list()]
    found = pl.DataFrame(
        {
            "item": as_column(table[item].to_native(), "item"),
            "title": pl.Series(given, dtype=pl.String),
        }
    )
    return found.unique("item", keep="first", maintain_order=True)


def with_titles(frame: "pl.DataFrame", titles: Titles | None) -> "pl.DataFrame":
    """Return a frame with a column of titles after its items; without titles, as it is."""
    import polars as pl

    if titles is None:
        return frame
    known = read_titles(titles)
    wanted = frame["item"].dtype
    if known["item"].dtype != wanted:
        if pl.String not in (known["item"].dtype, wanted):
            known = known.with_columns(pl.col("item").cast(wanted, strict=False))
        elif wanted == pl.String:
            known = known.with_columns(pl.col("item").cast(pl.String))
        else:
            raise DataError(
                f"the items of the titles are text (such as {known['item'][0]!r}), and those of "
                f"the model are not (such as {frame['item'][0]!r}); give ",
                Option("titles"),
                " with the model's ids.",
            )
    joined = frame.join(known, on="item", how="left", maintain_order="left")
    names = list(frame.columns)
    names.insert(names.index("item") + 1, "title")
    return joined.select(names)


def _read(path: str | os.PathLike[str]) -> "pl.DataFrame":
    """Read a table of titles; text that is not UTF-8 is taken for Latin-1."""
    first: DataError | None = None
    for encoding in ENCODINGS:
        try:
            return read_table(path, encoding=encoding).frame
        except DataError as cause:
            first = first or cause
    assert first is not None
    raise first
