import io

import polars as pl
import pytest

from grassvine.data.tables import safe_csv


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_text_that_spreadsheets_would_run_begins_with_a_quote(first: str) -> None:
    dangerous = first + 'cmd("a",1)'
    frame = pl.DataFrame({"id": [dangerous, "plain", None, "a=b"], "score": [-1.5, 2.0, 3.0, 4.0]})
    for kind in (pl.String, pl.Categorical):
        written = safe_csv(frame.with_columns(pl.col("id").cast(kind)))
        read = pl.read_csv(io.BytesIO(written), infer_schema=False)
        assert read["id"].to_list() == ["'" + dangerous, "plain", None, "a=b"]
        assert read["score"].to_list() == ["-1.5", "2.0", "3.0", "4.0"]
    assert frame["id"][0] == dangerous


def test_names_of_columns_are_text_too() -> None:
    assert safe_csv(pl.DataFrame({"=a": [1], "b-c": [2]})) == b"'=a,b-c\n1,2\n"
