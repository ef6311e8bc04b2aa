import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grassvine.data import Ratings, split_users_by_owner
from grassvine.data.stored import RatingDataset, rating_scan
from grassvine.data.tables import RatingTable, ratings_from_frame, ratings_from_frames
from grassvine.foundations.errors import DataError

ROWS = [
    ("eve", 30, 4.0, "south"),
    ("bob", 30, 1.0, "north"),
    ("eve", 5, 5.0, "south"),
    ("zoe", 7, 3.5, "west"),
    ("ann", 11, 2.0, "north"),
    ("bob", 5, 2.0, "north"),
]


def frame(rows: list[Any] = ROWS) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["user", "item", "rating", "shop"], orient="row", strict=False)


def stored(path: Path, rows: list[Any] = ROWS) -> Path:
    frame(rows).write_parquet(path / "ratings.parquet")
    return path / "ratings.parquet"


def bits(ratings: Ratings) -> tuple[Any, ...]:
    return (
        ratings.n_items,
        ratings.starts.tobytes(),
        (ratings.items.dtype, ratings.items.tobytes()),
        ratings.values.tobytes(),
    )


def agree(dataset: RatingDataset, table: RatingTable) -> None:
    """See that a dataset tells and reads what a table holds that was read as a whole."""
    assert table.owners is not None
    assert dataset.items.series.equals(table.items.series)
    wanted = split_users_by_owner(table.ratings, table.owners)
    assert [bits(part()) for part in dataset.parts] == [bits(part) for part in wanted]
    assert (dataset.n_users, dataset.n_ratings) == (len(table.users), table.ratings.n_values)
    values = table.ratings.values
    assert (dataset.lowest, dataset.highest) == (values.min(), values.max())
    assert dataset.counts.tolist() == np.bincount(table.ratings.items).tolist()
    # numpy's sum of 40 numbers below 10 is right to a few of the last bits of 400
    assert dataset.mean() == pytest.approx(values.mean(), abs=1e-13)
    assert dataset.squares(2.0) == pytest.approx(float(np.sum((values - 2.0) ** 2)), abs=1e-11)


ids = st.one_of(st.integers(-5, 10**18), st.integers(0, 3))
agents = st.sampled_from(["north", "south", "west", ""])


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    ratings = st.just(0.0) | st.floats(1e-9, 10) | st.floats(-10, -1e-9)
    entries = st.tuples(ids, st.text(max_size=3), ratings)
    rows = draw(st.lists(entries, min_size=1, max_size=40, unique_by=lambda row: row[:2]))
    owner = {user: draw(agents) for user in dict.fromkeys(row[0] for row in rows)}
    return [(*row, owner[row[0]]) for row in rows]


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(1, 3))
def test_every_agent_reads_the_bits_that_a_whole_table_would_give_it(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], n_files: int
) -> None:
    folder = tmp_path_factory.mktemp("parquet")
    for number in range(min(n_files, len(rows))):
        frame(rows)[number::n_files].write_parquet(folder / f"{number}.parquet")
    table = ratings_from_frame(frame(rows), agent="shop")
    for source in (folder, folder / "*.parquet"):
        dataset = RatingDataset.by_column(source, "shop")
        agree(dataset, table)
        assert table.agents is not None
        assert list(dataset.agents) == table.agents.series.to_list()


@settings(max_examples=20, deadline=None)
@given(tables())
def test_a_file_an_agent_gives_the_bits_of_several_tables(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("files")
    frames = [part.drop("shop") for part in frame(rows).partition_by("shop")]
    files = []
    for number, part in enumerate(frames):
        files.append(folder / f"{number}.{('parquet', 'arrow')[number % 2]}")
        (part.write_ipc if number % 2 else part.write_parquet)(files[-1])
    dataset = RatingDataset.by_file(files)
    agree(dataset, ratings_from_frames(frames))
    assert dataset.agents == tuple(map(str, files))


def test_text_files_are_read_as_tables(tmp_path: Path) -> None:
    files = [tmp_path / "north.csv", tmp_path / "south.csv"]
    files[0].write_text("user,item,rating\n1,007,3\n2,008,4\n")
    files[1].write_text("user;item;rating\n3;007;5\n3;012;1\n")
    dataset = RatingDataset.by_file(files)
    assert dataset.items.series.to_list() == ["007", "008", "012"]
    assert [part().values.tolist() for part in dataset.parts] == [[3.0, 4.0], [5.0, 1.0]]
    assert dataset.assumed[-1].startswith("Table 1: By name, 'user' holds the users")
    assert any("separated by semicolons" in sentence for sentence in dataset.assumed)


def test_names_of_folders_may_name_the_agents(tmp_path: Path) -> None:
    for (shop,), part in frame().group_by("shop"):
        (tmp_path / f"shop={shop}").mkdir()
        part.drop("shop").write_parquet(tmp_path / f"shop={shop}" / "part.parquet")
    agree(RatingDataset.by_column(tmp_path, "shop"), ratings_from_frame(frame(), agent="shop"))


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.with_columns(pl.col("shop").cast(pl.Categorical)),
        lambda f: f.with_columns(pl.col("shop").replace_strict("west", 1, default=2)),
        lambda f: f.with_columns(pl.col("item").cast(pl.UInt16), pl.col("rating").cast(pl.Float32)),
        lambda f: f.with_columns(pl.date(2026, 1, pl.col("item")).alias("item")),
    ],
)
def test_ids_and_numbers_may_be_of_other_types(
    tmp_path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    changed = change(frame())
    changed.write_parquet(tmp_path / "ratings.parquet")
    dataset = RatingDataset.by_column(tmp_path / "ratings.parquet", "shop")
    agree(dataset, ratings_from_frame(changed, agent="shop"))


def test_a_part_is_small_and_travels(tmp_path: Path) -> None:
    many = [(user, user % 3, 1.0 + user % 5, "north") for user in range(5000)]
    part = RatingDataset.by_column(stored(tmp_path, many), "shop").part("north")
    sent = pickle.dumps(part)
    assert len(sent) < 3000
    assert bits(pickle.loads(sent)()) == bits(part())


def test_a_part_knows_its_users(tmp_path: Path) -> None:
    table = RatingDataset.by_column(stored(tmp_path), "shop").part("north").read()
    assert table.users.series.to_list() == ["ann", "bob"]
    assert table.items.series.to_list() == [5, 7, 11, 30]


def test_repeated_pairs_and_missing_ratings_go_by_the_rules(tmp_path: Path) -> None:
    rows = [*ROWS, ("bob", 5, 4.0, "north"), ("kim", 99, None, "east")]
    path = stored(tmp_path, rows)
    dataset = RatingDataset.by_column(path, "shop", duplicates="mean", missing="drop")
    table = ratings_from_frame(frame(rows), agent="shop", duplicates="mean", missing="drop")
    assert table.owners is not None
    wanted = split_users_by_owner(table.ratings, table.owners)
    assert dataset.agents == ("north", "south", "west")
    assert [bits(part()) for part in dataset.parts] == [bits(part) for part in wanted]
    assert dataset.n_ratings == table.ratings.n_values + 1  # rows are counted, not pairs


def test_users_are_found_in_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rating_scan, "ROWS_AT_ONCE", 2)
    dataset = RatingDataset.by_column(stored(tmp_path), "shop")
    agree(dataset, ratings_from_frame(frame(), agent="shop"))


def test_sums_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=3000) * 10.0 ** rng.integers(-3, 4, 3000)
    rows = [(k, k % 7, value, "north") for k, value in enumerate(values)]
    found = []
    for order in (rows, rows[::-1], sorted(rows, key=lambda row: row[2])):
        dataset = RatingDataset.by_column(stored(tmp_path, order), "shop")
        found.append((dataset.mean(), dataset.squares(0.1), dataset.digest()))
    assert found[0] == found[1] == found[2]


def test_the_digest_is_of_what_was_counted(tmp_path: Path) -> None:
    other = [*ROWS[:-1], ("bob", 7, 2.0, "north")]
    digests = [
        RatingDataset.by_column(stored(tmp_path, rows), "shop").digest()
        for rows in (ROWS, ROWS[::-1], other)
    ]
    assert digests[0] == digests[1] != digests[2]
    assert re.fullmatch("[0-9a-f]{64}", digests[0])


def swapped(rows: list[Any], place: int, column: int, value: Any) -> list[Any]:
    row = list(rows[place])
    row[column] = value
    return [*rows[:place], tuple(row), *rows[place + 1 :]]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (ROWS, {"agent": "shpo"}, "there is no column 'shpo' for the agents; did you mean 'shop'?"),
        (
            ROWS,
            {"user": "usr"},
            "there is no column 'usr' for the users; did you mean 'user'?",
        ),
        (ROWS, {"duplicates": "first"}, "duplicates is 'first'; choose from"),
        (ROWS, {"missing": "skip"}, "missing is 'skip'; choose from"),
        (ROWS, {"scale": (5, 1)}, "the scale is (5, 1); pass the lowest and the highest rating."),
        (ROWS, {"scale": (1, 4)}, "range from 1 to 5, outside the scale from 1 to 4; fix them"),
        (swapped(ROWS, 0, 0, None), {}, "1 of 6 user ids in"),
        (swapped(ROWS, 0, 1, None), {}, "1 of 6 item ids in"),
        (swapped(ROWS, 0, 3, None), {}, "1 of 6 agent ids in"),
        (swapped(ROWS, 0, 2, None), {}, "1 of 6 ratings in"),
        (swapped(ROWS, 0, 2, float("inf")), {}, "are missing, NaN or infinite; remove those row"),
        (swapped(ROWS, 2, 2, 1e300), {}, "the rating 1e+300 in row 2 (counting from 0) of"),
        (swapped(ROWS, 3, 2, -1e-300), {}, "the rating -1e-300 in row 3 (counting from 0) of"),
        ([(1, 2, float("nan"), "x")], {"missing": "drop"}, "all ratings in"),
        ([(1, 2, "5", "x")], {}, "are of type String; convert them to numbers."),
        (
            swapped(ROWS, 0, 3, "west"),
            {"shared_users": "error"},
            "1 user id has ratings with several agents, such as 'eve' with 'south' and 'west'; "
            "rename",
        ),
    ],
)
def test_what_is_wrong_is_reported_before_any_agent_reads(
    tmp_path: Path, rows: list[Any], options: dict[str, Any], message: str
) -> None:
    path = stored(tmp_path, rows)
    with pytest.raises(DataError, match=re.escape(message)):
        RatingDataset.by_column(path, **{"agent": "shop", **options})


def test_a_user_of_two_agents_is_two_users(tmp_path: Path) -> None:
    rows = swapped(ROWS, 0, 3, "west")
    dataset = RatingDataset.by_column(stored(tmp_path, rows), "shop")
    table = ratings_from_frame(frame(rows), agent="shop")
    agree(dataset, table)
    assert dataset.assumed == table.assumed
    users = [dataset.part(name).read().users for name in ("south", "west")]
    assert [one.series.to_list() for one in users] == [["eve"], ["eve", "zoe"]]
    assert [one.owners.to_list() for one in users if one.owners is not None] == [
        ["south"],
        ["west", "west"],
    ]


def test_columns_are_not_guessed_by_their_places(tmp_path: Path) -> None:
    path = stored(tmp_path)
    frame().rename({"user": "a", "rating": "c"}).write_parquet(path)
    with pytest.raises(
        DataError, match=r"identifies the users and ratings; .* with user, rating\."
    ):
        RatingDataset.by_column(path, "shop")


def test_a_pair_that_is_there_twice_is_met_by_its_agent(tmp_path: Path) -> None:
    dataset = RatingDataset.by_column(stored(tmp_path, [*ROWS, ("bob", 5, 3.0, "north")]), "shop")
    dataset.part("south")()
    with pytest.raises(
        DataError, match=r"^agent 'north': 1 rating repeats a user and an item: user"
    ):
        dataset.part("north")()


def test_an_agent_that_is_not_there_is_refused(tmp_path: Path) -> None:
    dataset = RatingDataset.by_column(stored(tmp_path), "shop")
    with pytest.raises(DataError, match="unknown agent 'nroth'; did you mean 'north'"):
        dataset.part("nroth")


def test_files_that_have_changed_are_refused_by_the_agent(tmp_path: Path) -> None:
    path = stored(tmp_path)
    part = RatingDataset.by_column(path, "shop").part("north")
    stored(tmp_path, [*ROWS, ("bob", 8, 2.0, "north")])
    with pytest.raises(DataError, match=r"^agent 'north': 1 items are not among the 4 .* as 8\): "):
        part()
    stored(tmp_path, [row for row in ROWS if row[3] != "north"])
    with pytest.raises(
        DataError, match=r"^agent 'north': .* no longer contains ratings of this agent; "
    ):
        part()
    frame().drop("rating").write_parquet(path)
    with pytest.raises(DataError, match=r"^agent 'north': .* cannot be read \(.*rating"):
        part()
    path.unlink()
    with pytest.raises(DataError, match=r"^agent 'north': .* does not exist; use a Parquet file"):
        part()


def test_wrong_sources_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"none.parquet does not exist; use a Parquet file, a folder"
    ):
        RatingDataset.by_column(tmp_path / "none.parquet", "shop")
    with pytest.raises(DataError, match=r"cannot be read as Parquet .*; use a Parquet file"):
        RatingDataset.by_column(tmp_path, "shop")
    (tmp_path / "ratings.csv").write_text("user,item,rating,shop\n1,2,3,a\n")
    with pytest.raises(DataError, match=r"ratings.csv is not a Parquet file; use a Parquet"):
        RatingDataset.by_column(tmp_path / "ratings.csv", "shop")
    whole = stored(tmp_path).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"cut.parquet cannot be read as Parquet \("):
        RatingDataset.by_column(tmp_path / "cut.parquet", "shop")
    frame()[:0].write_parquet(tmp_path / "empty.parquet")
    with pytest.raises(DataError, match=r"empty.parquet has columns but no rows"):
        RatingDataset.by_column(tmp_path / "empty.parquet", "shop")


def test_files_of_one_pattern_have_the_same_columns(tmp_path: Path) -> None:
    frame().write_parquet(tmp_path / "0.parquet")
    frame().with_columns(pl.col("item").cast(pl.String)).write_parquet(tmp_path / "1.parquet")
    with pytest.raises(DataError, match=r"cannot be read \(.*item.*; save it again, with the same"):
        RatingDataset.by_column(tmp_path, "shop")


class Own(pa.ExtensionType):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(pa.int64(), "grassvine.own")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


def test_types_that_bring_code_with_them_are_refused(tmp_path: Path) -> None:
    table = (
        frame()
        .to_arrow()
        .append_column("own", pa.ExtensionArray.from_storage(Own(), pa.array(range(len(ROWS)))))
    )
    pq.write_table(table, tmp_path / "own.parquet")
    with pytest.raises(DataError, match=r"the column 'own' of .* is of type Extension"):
        RatingDataset.by_column(tmp_path / "own.parquet", "shop")


def test_wrong_files_are_named_by_their_number(tmp_path: Path) -> None:
    one = stored(tmp_path)
    for sources, message in [
        ([], r"the files are \[\]; pass a list with one file per agent."),
        (str(one), "the files are '.*'; pass a list with one file per agent."),
        (
            [one, tmp_path / "none.csv"],
            "^table 1: .*none.csv does not exist; use an existing file .CSV",
        ),
    ]:
        with pytest.raises(DataError, match=message):
            RatingDataset.by_file(sources)  # type: ignore[arg-type]
    (tmp_path / "other.csv").write_text("user,item,rating\nkim,x,3\nlee,y,4\n")
    with pytest.raises(
        DataError, match=r"the item ids of table 0 are whole numbers .* table 1 are text"
    ):
        RatingDataset.by_file([one, tmp_path / "other.csv"])
    (tmp_path / "same.csv").write_text("user,item,rating\nkim,5,3\neve,7,4\n")
    with pytest.raises(DataError, match=r"such as 'eve' in '.*ratings.parquet' and '.*same.csv'"):
        RatingDataset.by_file([one, tmp_path / "same.csv"], shared_users="error")


def test_all_ratings_alike_are_reported(tmp_path: Path) -> None:
    rows = [(user, 1 + user % 2, 3.0, "north") for user in range(4)]
    dataset = RatingDataset.by_column(stored(tmp_path, rows), "shop")
    assert dataset.assumed[-1] == "All ratings are 3; there is nothing to learn."
