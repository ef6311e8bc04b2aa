import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.datasets.rating_files import ROWS, as_dict, netflix_files, rows, wanted, write_netflix

from grassvine.datasets import published_text, read_netflix
from grassvine.foundations.errors import DataError

FORMS = ["mv", "combined"]


@given(rows([1, 2, 3, 4, 5]), st.sampled_from(FORMS), st.sampled_from([1, 60, 2**25]))
def test_what_is_written_is_read_in_blocks_of_any_size(
    table: list[tuple[int, int, float]], form: str, block: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(published_text, "BLOCK", block)
        assert as_dict(read_netflix(write_netflix(Path(folder), table, form))) == wanted(table)


@pytest.mark.parametrize("form", FORMS)
def test_the_files_are_found_one_folder_deeper(tmp_path: Path, form: str) -> None:
    write_netflix(tmp_path / "training_set", ROWS, form)
    table = read_netflix(tmp_path)
    assert as_dict(table) == wanted(ROWS)
    assert table.users.series.to_list() == [2, 7, 19] and table.items.series.to_list() == [
        5,
        11,
        30,
    ]


def test_one_file_may_be_given_whatever_its_name_and_line_ends(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("".join(netflix_files(ROWS)), newline="\r\n")
    assert as_dict(read_netflix(tmp_path / "x")) == wanted(ROWS)


def test_a_movie_without_ratings_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("3:\n4:\n8,5,2005-01-02\n9:")
    assert as_dict(read_netflix(tmp_path / "x")) == {(8, 4): 5.0}


GOOD = "1:\n8,5,2005-01-02\n"
REFUSALS = {
    "a rating first": ("8,5,2005-01-02\n1:\n", "line 1 of .*x is not 'movie:', with which"),
    "a line cut off": (GOOD + "9,3", "line 3 of .*x has 2 fields, not 3 .*: '9,3'"),
    "a user cut off": (GOOD + "9", "line 3 of .*x has 1 fields, not 3"),
    "a date cut off": (GOOD + "9,3,2005-0", "line 3 of .* has an invalid date: '9,3,2005-0'"),
    "a date that never was": (GOOD + "9,3,2005-02-30\n", "line 3 of .* has an invalid date"),
    "a line too long": (GOOD + "9,3,2005-01-02,1\n", "line 3 of .* has 4 fields, not 3"),
    "a rating too high": (GOOD + "9,6,2005-01-02\n", "line 3 .* not an integer from 1 to 5"),
    "a rating of 0": (GOOD + "9,0,2005-01-02\n", "line 3 .* not an integer from 1 to 5"),
    "a rating of 0 without date": (GOOD + "9,0,\n" + "8:", "line 3 .* not an integer from 1 to 5"),
    "a rating of 0 and a movie": (GOOD + "9,0,2005-01-02\n2:\n", "line 3 .* from 1 to 5"),
    "a word after a movie": (GOOD + "2:x\n", "line 3 .* has 1 fields, not 3"),
    "half a star": (GOOD + "9,2.5,2005-01-02\n", "line 3 .* not an integer from 1 to 5"),
    "a word for a user": (GOOD + "me,3,2005-01-02\n", "line 3 .* has a user that is not an int"),
    "a negative user": (GOOD + "-9,3,2005-01-02\n", "line 3 .* has a user that is not an int"),
    "a colon inside": (GOOD + "9:1,3,2005-01-02\n", "line 3 .* has a user that is not an int"),
    "a movie without number": (GOOD + ":\n", "line 3 .* has 1 fields, not 3"),
    "a blank line": (GOOD + "\n" + "2:\n8,1,2005-01-02\n", "line 3 of .* is empty"),
    "movies only": ("1:\n2:\n", "x contains movies but no ratings; download it again"),
    "nothing": ("", "x is empty"),
    "a web page": ("<html>", "x is a web page"),
    "the same again": (
        GOOD + "8,1,2005-01-03\n",
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
        read_netflix(tmp_path / "x")


def test_the_fault_is_named_with_its_file(tmp_path: Path) -> None:
    write_netflix(tmp_path, ROWS, "mv")
    (tmp_path / "mv_0000011.txt").write_text("11:\n4,9,2005-01-01\n")
    with pytest.raises(DataError, match=r"line 2 of .*mv_0000011\.txt has a rating"):
        read_netflix(tmp_path)


def test_where_there_is_no_file_or_both_forms_it_reports_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"contains no combined_data_\*\.txt or mv_\*\.txt; use"):
        read_netflix(tmp_path)
    for form in FORMS:
        write_netflix(tmp_path, ROWS, form)
    with pytest.raises(
        DataError, match=r"contains .*combined_data_1\.txt and .*; pass a folder with one"
    ):
        read_netflix(tmp_path)
