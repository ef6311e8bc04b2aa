"""Small tables of ratings, written in the forms in which data sets are published."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from grassvine.data.tables import RatingTable

Rows = Sequence[tuple[int, int, float]]
ROWS: Rows = [(7, 30, 4.0), (2, 30, 1.0), (7, 5, 5.0), (19, 5, 3.0), (2, 11, 2.0)]


def rows(
    values: Sequence[float], n_items: int = 3000
) -> st.SearchStrategy[list[tuple[int, int, float]]]:
    """Arbitrary ratings in arbitrary order, one per user and item."""
    entry = st.tuples(st.integers(1, 60), st.integers(1, n_items), st.sampled_from(values))
    return st.lists(entry, min_size=1, max_size=30, unique_by=lambda row: row[:2])


def as_dict(table: RatingTable) -> dict[tuple[Any, Any], float]:
    ratings = table.ratings
    users = table.users.at(ratings.users_of_values()).to_list()
    items = table.items.at(ratings.items).to_list()
    return dict(zip(zip(users, items, strict=True), ratings.values.tolist(), strict=True))


def wanted(table: Rows) -> dict[tuple[int, int], float]:
    return {(user, item): rating for user, item, rating in table}


def _lines(table: Rows, separator: str) -> str:
    return "".join(
        separator.join([str(user), str(item), f"{rating:g}", "978300760"]) + "\n"
        for user, item, rating in table
    )


def u_data(table: Rows) -> str:
    return _lines(table, "\t")


def ratings_dat(table: Rows) -> str:
    return _lines(table, "::")


def ratings_csv(table: Rows) -> str:
    return "userId,movieId,rating,timestamp\n" + _lines(table, ",")


MOVIELENS: dict[str, Callable[[Rows], str]] = {
    "u.data": u_data,
    "ratings.dat": ratings_dat,
    "ratings.csv": ratings_csv,
}


def netflix_files(table: Rows) -> list[str]:
    """One text a movie, in the order in which movies first occur."""
    texts = {movie: f"{movie}:\n" for _, movie, _ in table}
    for user, movie, rating in table:
        texts[movie] += f"{user},{rating:g},2005-09-06\n"
    return list(texts.values())


def write_netflix(folder: Path, table: Rows, form: str) -> Path:
    """Write either form into a folder; combined files hold two movies each."""
    texts = netflix_files(table)
    folder.mkdir(exist_ok=True)
    if form == "mv":
        for text in texts:
            number = int(text.split(":")[0])
            (folder / f"mv_{number:07d}.txt").write_text(text)
    else:
        for number, first in enumerate(range(0, len(texts), 2), start=1):
            text = "".join(texts[first : first + 2])
            (folder / f"combined_data_{number}.txt").write_text(text)
    return folder


def jester_line(ratings: dict[int, float], count: int | None = None) -> str:
    cells = [f"{ratings[joke]:g}" if joke in ratings else "99" for joke in range(1, 101)]
    return ",".join([str(len(ratings) if count is None else count), *cells]) + "\n"
