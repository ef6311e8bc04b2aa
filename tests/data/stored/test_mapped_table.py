"""A stored table is the table in memory, and its folder is checked when it is opened."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import grassvine as gv
from grassvine.data.stored import open_ratings, store_ratings
from grassvine.data.tables import ratings_from_frame
from grassvine.datasets import read_ratings
from grassvine.foundations.errors import DataError, OutputError
from grassvine.foundations.seeds import stream

N_USERS, N_ITEMS = 40, 30


def frame(values: str = "stars", seed: int = 0) -> pl.DataFrame:
    rng = stream(seed, "test stored")
    places = rng.permutation(N_USERS * N_ITEMS)[:600]
    stars = rng.integers(1, 11, len(places)) / 2
    ratings = stars if values == "stars" else stars + 0.1
    users = [f"u{place // N_ITEMS}" for place in places]
    return pl.DataFrame({"user": users, "item": places % N_ITEMS + 5, "rating": ratings})


@pytest.fixture
def source(tmp_path: Path) -> Path:
    frame().write_parquet(tmp_path / "ratings.parquet")
    return tmp_path / "ratings.parquet"


@pytest.mark.parametrize("values", ["stars", "tenths"])
@pytest.mark.parametrize("rows", [7, 2**22])
def test_a_stored_table_is_the_table_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: str, rows: int
) -> None:
    from grassvine.data.stored import writing

    monkeypatch.setattr(writing, "ROWS_AT_ONCE", 2 * rows)
    monkeypatch.setattr(writing, "ROWS_IN_BUCKET", rows)
    parts, whole = tmp_path / "parts", frame(values)
    parts.mkdir()
    for number, part in enumerate((whole[:250], whole[250:])):
        part.write_parquet(parts / f"{number}.parquet")
    shares: list[float] = []
    table = store_ratings(parts, tmp_path / "table", watch=shares.append)
    expected = ratings_from_frame(whole)
    assert table.digest() == expected.digest() == open_ratings(tmp_path / "table").digest()
    assert table.ratings.stored.dtype == expected.ratings.stored.dtype
    assert not table.ratings.items.flags.writeable
    assert table.assumed[:-1] == expected.assumed
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert {path.name for path in tmp_path.iterdir()} == {"parts", "table"}


@pytest.mark.parametrize("method", ["map", "bayes"])
def test_a_fit_from_files_has_the_bits_of_one_in_memory(
    tmp_path: Path, source: Path, method: str
) -> None:
    table = store_ratings(source, tmp_path / "table")
    one, other = (
        gv.MatrixCompleter(3, method=method, agents=2).fit(given) for given in (table, frame())
    )
    assert np.array_equal(one.subspace_, other.subspace_)
    assert one.data_hash_ == other.data_hash_


def test_repeated_ratings_are_refused_or_averaged_as_in_memory(tmp_path: Path) -> None:
    twice = pl.concat([frame(), frame().head(3).with_columns(rating=pl.lit(1.0))])
    twice.write_parquet(tmp_path / "twice.parquet")
    with pytest.raises(DataError, match="some ratings repeat a user and an item, such as user 'u"):
        store_ratings(tmp_path / "twice.parquet", tmp_path / "table")
    assert not (tmp_path / "table").exists()
    table = store_ratings(tmp_path / "twice.parquet", tmp_path / "table", duplicates="mean")
    expected = ratings_from_frame(twice, duplicates="mean")
    assert table.digest() == expected.digest() and table.assumed[:-1] == expected.assumed


def test_a_stored_table_is_read_by_the_path_of_its_folder(tmp_path: Path, source: Path) -> None:
    table = store_ratings(source, tmp_path / "table")
    assert read_ratings(tmp_path / "table").digest() == table.digest()
    with pytest.raises(DataError, match="has no column 'stars'"):
        read_ratings(tmp_path / "table", rating="stars")


def test_an_existing_folder_and_other_formats_are_refused(tmp_path: Path, source: Path) -> None:
    with pytest.raises(OutputError, match="exists; choose another folder"):
        store_ratings(source, tmp_path)
    frame().write_csv(tmp_path / "ratings.csv")
    with pytest.raises(DataError, match="is not a Parquet file"):
        store_ratings(tmp_path / "ratings.csv", tmp_path / "table")
    with pytest.raises(DataError, match=r"use a folder that store_ratings wrote"):
        open_ratings(tmp_path)


def altered(name: str, change: Callable[[np.ndarray], None], kind: str) -> Callable[[Path], None]:
    def alter(folder: Path) -> None:
        array = np.fromfile(folder / name, kind)
        change(array)
        array.tofile(folder / name)

    return alter


def described(**changes: object) -> Callable[[Path], None]:
    def alter(folder: Path) -> None:
        path = folder / "ratings.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return alter


def with_ids(ids: list[object]) -> Callable[[Path], None]:
    return lambda folder: pl.DataFrame({"id": ids}).write_parquet(folder / "items.parquet")


def truncated(folder: Path) -> None:
    (folder / "ratings.json").write_bytes(b"{")


FAULTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "format": (described(format="other"), "its format is not"),
    "count": (described(ratings=-1), "ratings is -1"),
    "number": (described(users=True), "users is True"),
    "size": (described(ratings=599), "it has 2400 bytes, not 2396"),
    "type": (described(values="<i8"), "values is '<i8'"),
    "notes": (described(assumed=[1]), "assumed is not a list"),
    "json": (truncated, "ratings.json"),
    "starts": (altered("starts", lambda a: a.__setitem__(1, 10**6), "<i8"), "not in ascending"),
    "end": (altered("starts", lambda a: a.__setitem__(-1, 7), "<i8"), "not in ascending"),
    "item": (altered("items", lambda a: a.__setitem__(3, N_ITEMS), "<i4"), "not between 0 and 29"),
    "order": (
        altered("items", lambda a: a.__setitem__(slice(0, 2), [1, 1]), "<i4"),
        "items of a user are not in ascending order",
    ),
    "finite": (altered("values", lambda a: a.__setitem__(0, np.nan), "<f4"), "is not finite"),
    "ids": (with_ids(list(range(29, -1, -1))), "not distinct and in ascending"),
    "same ids": (with_ids([1] * N_ITEMS), "not distinct and in ascending"),
    "few ids": (with_ids([1]), "1 columns and 1 rows"),
    "no ids": (lambda folder: (folder / "users.parquet").unlink(), "users.parquet"),
    "no values": (lambda folder: (folder / "values").unlink(), "cannot be read"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_folder_that_was_changed_is_refused(tmp_path: Path, source: Path, name: str) -> None:
    store_ratings(source, tmp_path / "table")
    alter, message = FAULTS[name]
    alter(tmp_path / "table")
    with pytest.raises(DataError, match=message):
        open_ratings(tmp_path / "table")


def test_the_check_sees_both_sides_of_a_boundary_between_its_parts(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grassvine.data.stored import mapped_table

    for at_once in (1, 5, 16):
        monkeypatch.setattr(mapped_table, "AT_ONCE", at_once)
        folder = tmp_path / f"table {at_once}"
        table = store_ratings(source, folder)
        start = int(table.ratings.starts[1])
        for place in range(1, start):
            items = np.fromfile(folder / "items", "<i4")
            items[place] = items[place - 1]
            before = (folder / "items").read_bytes()
            items.tofile(folder / "items")
            with pytest.raises(DataError, match="not in ascending order"):
                open_ratings(folder)
            (folder / "items").write_bytes(before)
