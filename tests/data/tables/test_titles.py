from pathlib import Path

import polars as pl
import pytest
from tests.real_data import real_file

from grassvine.data.tables.titles import read_titles, with_titles
from grassvine.foundations.errors import DataError

FRAME = pl.DataFrame({"user": [1, 1], "item": [7, 9], "score": [0.5, 0.25]})


def test_titles_stand_behind_their_items() -> None:
    named = with_titles(FRAME, {9: "Nine", 7: "Seven"})
    assert named.columns == ["user", "item", "title", "score"]
    assert named["title"].to_list() == ["Seven", "Nine"]
    assert with_titles(FRAME, None) is FRAME
    assert with_titles(FRAME, {7: "Seven"})["title"].to_list() == ["Seven", None]


def test_columns_are_found_by_name_or_by_content() -> None:
    frame = pl.DataFrame({"year": [1999, 2001], "movieId": [7, 9], "Title": ["Seven", "Nine"]})
    assert read_titles(frame)["title"].to_list() == ["Seven", "Nine"]
    plain = pl.DataFrame({"a": [7, 9], "b": [1, 2], "c": ["Seven", "Nine"]})
    assert read_titles(plain)["title"].to_list() == ["Seven", "Nine"]


def test_ids_of_another_type_are_converted_or_refused(tmp_path: Path) -> None:
    text = FRAME.with_columns(pl.col("item").cast(pl.String))
    assert with_titles(text, {7: "Seven", 9: "Nine"})["title"].to_list() == ["Seven", "Nine"]
    with pytest.raises(DataError, match="with the model's ids"):
        with_titles(FRAME, {"seven": "Seven"})
    with pytest.raises(DataError, match="none of them is text"):
        read_titles(pl.DataFrame({"item": [1], "year": [2]}))


def test_a_file_in_latin_1_is_read(tmp_path: Path) -> None:
    path = tmp_path / "movies.dat"
    path.write_bytes("7::Café (1999)::Drama\n9::Nine (2009)::Drama\n".encode("latin-1"))
    assert with_titles(FRAME, path)["title"].to_list() == ["Café (1999)", "Nine (2009)"]


@pytest.mark.parametrize("name", ["ml-1m/movies.dat", "ml-100k/u.item"])
def test_published_titles(name: str) -> None:
    known = read_titles(real_file(name))
    assert known.filter(pl.col("item") == 1)["title"].to_list() == ["Toy Story (1995)"]
    assert len(known) > 1600
