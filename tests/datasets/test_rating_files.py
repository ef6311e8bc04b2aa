from pathlib import Path

import polars as pl
import pytest
from tests.datasets.rating_files import ROWS, u_data

from grassvine.data import Ids
from grassvine.data.ids import as_known
from grassvine.data.tables.export import encode_table
from grassvine.data.tables.files import read_table
from grassvine.data.tables.sample_table import samples_from_frame
from grassvine.datasets import read_ratings
from grassvine.foundations.errors import DataError

JESTER = "2," + ",".join(["99"] * 98 + ["3.5", "-1.25"]) + "\n"


def test_a_table_and_published_forms_are_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "ml-100k"
    folder.mkdir()
    (folder / "u.data").write_text(u_data(ROWS))
    as_file, as_folder = read_ratings(folder / "u.data"), read_ratings(folder)
    for one in (as_file, as_folder):
        assert one.ratings.n_values == len(ROWS)
    assert as_file.users.series.to_list() == as_folder.users.series.to_list()
    assert as_file.ratings.values.tolist() == as_folder.ratings.values.tolist()


def test_jester_is_recognised_by_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text(JESTER * 3)
    table = read_ratings(path)
    assert table.users.series.to_list() == [1, 2, 3]
    assert table.items.series.to_list() == [99, 100]
    assert table.ratings.values.tolist() == [3.5, -1.25] * 3
    assert table.assumed == (f"{path} is in a published format.",)
    with pytest.raises(DataError, match="has no column 'joke'; omit the columns"):
        read_ratings(path, item="joke")


def test_a_name_that_is_published_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRASSVINE_DATA", str(tmp_path))
    monkeypatch.setattr("grassvine.datasets.store.cache_folder", lambda: tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="MovieLens 1M not found at"):
        read_ratings("ml-1m")
    with pytest.raises(DataError, match="ml-2m does not exist; use an existing file"):
        read_ratings("ml-2m")


def test_whole_numbers_become_text_only_where_text_is_known() -> None:
    text, numbers = Ids(pl.Series(["007", "123"])), Ids(pl.Series([7, 123]))
    assert as_known([123], text, "user").to_list() == ["123"]
    assert as_known([123], numbers, "user").to_list() == [123]
    assert as_known(["123"], numbers, "user").to_list() == ["123"]
    assert as_known([1.5], text, "user").to_list() == [1.5]


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".jsonl"])
def test_programs_get_tables_as_they_are(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame({"id": ["=1+1", "a"], "score": [0.5, 1.0]})
    path = tmp_path / f"table{suffix}"
    path.write_bytes(encode_table(frame, suffix))
    assert read_table(path).frame.equals(frame)
    assert encode_table(frame, ".csv").startswith(b"id,score\n'=1+1,0.5\n")
    with pytest.raises(DataError, match=r"unknown table suffix '\.parqet'; did you mean"):
        encode_table(frame, ".parqet")


def test_samples_are_the_columns_of_numbers() -> None:
    frame = pl.DataFrame({"name": ["a", "b"], "x": [1, 2], "y": [0.5, -1.0]})
    table = samples_from_frame(frame)
    assert table.features == ("x", "y") and table.samples.tolist() == [[1.0, 0.5], [2.0, -1.0]]
    assert table.assumed == ("Columns without numbers were ignored: 'name'.",)
    assert table.digest() == samples_from_frame(frame.reverse()).digest()
    assert table.digest() != samples_from_frame(frame.select("y", "x")).digest()
    with pytest.raises(DataError, match=r"'y' is missing, NaN or infinite in 1 of . rows \(row 1,"):
        samples_from_frame(pl.DataFrame({"x": [1, 2], "y": [0.5, None]}))
    with pytest.raises(DataError, match="no column contains numbers"):
        samples_from_frame(frame.select("name"))
    with pytest.raises(DataError, match="did you mean 'x'"):
        samples_from_frame(frame, features=["xx"])
