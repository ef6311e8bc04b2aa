import gzip
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.datasets.rating_files import (
    MOVIELENS,
    ROWS,
    as_dict,
    ratings_csv,
    ratings_dat,
    rows,
    u_data,
    wanted,
)
from tests.real_data import real_file

from grassvine.datasets import published_text, read_movielens
from grassvine.foundations.errors import DataError

HALF_STARS = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]
every_form = pytest.mark.parametrize("name", MOVIELENS)


@every_form
@given(rows(HALF_STARS), st.sampled_from(["\n", "\r\n"]), st.sampled_from([1, 40, 2**25]))
def test_what_is_written_is_read_in_blocks_of_any_size(
    name: str, table: list[tuple[int, int, float]], newline: str, block: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(published_text, "BLOCK", block)
        path = Path(folder) / name
        path.write_text(MOVIELENS[name](table), newline=newline)
        assert as_dict(read_movielens(path)) == wanted(table)


@every_form
@pytest.mark.parametrize("depth", ["", "ml-10M100K"])
def test_the_file_is_found_in_a_folder_or_one_deeper(tmp_path: Path, name: str, depth: str) -> None:
    (tmp_path / depth).mkdir(exist_ok=True)
    (tmp_path / depth / name).write_text(MOVIELENS[name](ROWS))
    table = read_movielens(tmp_path)
    assert as_dict(table) == wanted(ROWS)
    assert table.users.series.to_list() == [2, 7, 19] and table.items.series.to_list() == [
        5,
        11,
        30,
    ]


@every_form
def test_the_form_is_seen_in_the_file_not_in_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "x").write_text(MOVIELENS[name](ROWS))
    assert as_dict(read_movielens(str(tmp_path / "x"))) == wanted(ROWS)


def test_a_last_line_may_lack_its_end_or_be_followed_by_blank_ones(tmp_path: Path) -> None:
    for ending in ("", "\n", "\n\n\r\n"):
        (tmp_path / "u.data").write_text(u_data(ROWS).rstrip() + ending)
        assert as_dict(read_movielens(tmp_path)) == wanted(ROWS)


@every_form
def test_a_byte_order_mark_is_no_fault(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("\ufeff" + MOVIELENS[name](ROWS), encoding="utf-8")
    assert as_dict(read_movielens(tmp_path)) == wanted(ROWS)


GOOD = ratings_dat(ROWS)
REFUSALS = {
    "a line cut off": (GOOD + "6::7::3", "line 6 of .*x has 3 fields, not 4 .user, .*'6::7::3'"),
    "a first line cut off": ("6::7", "line 1 of .*x has 2 fields, not 4 .*; fix that line"),
    "a line too long": (GOOD + "6::7::3::8::9\n", "line 6 of .* has 5 fields, not 4"),
    "a blank line": (GOOD + "\n" + GOOD, "line 6 of .* is empty"),
    "a word for a user": (
        GOOD + "me::7::3::8\n",
        "line 6 of .* has a user or movie that is not an",
    ),
    "a negative movie": (GOOD + "6::-7::3::8\n", "line 6 of .* has a user or movie that is not an"),
    "a huge movie": (
        GOOD + f"6::{10**20}::3::8\n",
        "line 6 of .* has a user or movie that is not an",
    ),
    "a fraction of a movie": (
        GOOD + "6::7.5::3::8\n",
        "line 6 .* has a user or movie that is not an",
    ),
    "a word for a rating": (GOOD + "6::7::good::8\n", "line 6 .*not a number from 0.5 to 5"),
    "a rating too high": (ratings_csv([(1, 1, 5.5)]), "line 2 of .* not a number from 0.5 to 5"),
    "a rating too low": (ratings_csv([(1, 1, 1), (1, 2, 0)]), "line 3 of .* not a number from 0.5"),
    "no rating": (GOOD + "6::7::nan::8\n", "line 6 of .* not a number from 0.5 to 5"),
    "a word for a time": (GOOD + "6::7::3::now\n", "line 6 of .* time that is not an integer"),
    "other separators": (GOOD + "6:7:3:8\n", "line 6 of .* has 1 fields, not 4"),
    "nothing": ("", "x is empty; download or create it again"),
    "blanks": ("\n \n", "x is empty; download or create it again"),
    "a header only": (ratings_csv([]), "x contains no ratings; download it again"),
    "a web page": (
        "\n<!DOCTYPE html>\n<title>404</title>",
        "x is a web page, perhaps from a failed",
    ),
    "another CSV": ("movieId,title,genres\n1,Toy,A\n", "x is not a MovieLens file: its first line"),
    "movies.dat": ("1::Toy Story (1995)::Comedy\n", "line 1 of .* has 3 fields, not 4"),
    "the same again": (
        GOOD + "7::30::1::8\n",
        "1 rating repeats a user and an item: user .*; it was modified, so download it again",
    ),
}


@pytest.mark.parametrize(("content", "message"), REFUSALS.values(), ids=REFUSALS)
@pytest.mark.parametrize("block", [1, 2**25])
def test_a_faulty_file_is_refused_with_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, message: str, block: int
) -> None:
    monkeypatch.setattr(published_text, "BLOCK", block)
    (tmp_path / "x").write_text(content)
    with pytest.raises(DataError, match=message):
        read_movielens(tmp_path / "x")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"1::1::1::1\n", mtime=0), "x is compressed with gzip; decompress it"),
        (b"PK\x03\x04 and so on", "x is a zip archive; extract it and use the file inside"),
        (b"1::1\x00::1", "x is not a text file; use the published text file"),
        (b"1::1::\xff::1", r"line 1 of .* not a number from 0.5 to 5: '1::1::ÿ::1'"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_movielens(tmp_path / "x")


def test_where_there_is_no_file_or_two_it_reports_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"ml does not exist; use u\.data or ratings\.dat or"):
        read_movielens(tmp_path / "ml")
    with pytest.raises(
        DataError, match=r"contains no u\.data or ratings\.dat or ratings\.csv; use"
    ):
        read_movielens(tmp_path)
    for name in ("ml-20m", "ml-25m"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ratings.csv").write_text(ratings_csv(ROWS))
    with pytest.raises(DataError, match=r"contains .*ml-20m.* and .*ml-25m.*; choose one of them"):
        read_movielens(tmp_path)


def test_movielens_100k_is_read_as_numpy_reads_it() -> None:
    path = real_file("ml-100k/u.data")
    user, movie, rating, _ = np.loadtxt(path, dtype=np.int64).T
    table = read_movielens(path)
    assert as_dict(table) == wanted(list(zip(user, movie, rating, strict=True)))
    assert np.array_equal(table.users.series, np.arange(1, 944))
    assert np.array_equal(table.items.series, np.arange(1, 1683))
