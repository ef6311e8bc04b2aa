"""Text read in blocks of lines gives what the whole text gives, or is left to the whole reader."""

import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.data.tables.files import streamed
from grassvine.data.tables.files.delimited import read_delimited
from grassvine.data.tables.files.streamed import stream_delimited
from grassvine.foundations.errors import DataError

N = 60
HEADER = "user,item,rating\n"
ROWS = "".join(f"{k},{-k * k},{k / 4}\n" for k in range(N))
field = st.sampled_from(
    ["7", "12", "-3", "0", "4.5", "1e3", "007", "+7", "-0", " 7", "7 ", "NA", "", "x7", "9" * 17]
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "FIRST_BLOCK", 16)
    monkeypatch.setattr(streamed, "BLOCK", 64)


def in_blocks(
    text: str, *, narrow: bool = False
) -> tuple[pl.DataFrame, tuple[str, ...], list[int]] | None:
    read = stream_delimited(io.BytesIO(text.encode()), "x.csv", None, None, narrow=narrow)
    return None if read is None else (read[0], read[1], list(read[2]))


def whole(text: str) -> tuple[pl.DataFrame, tuple[str, ...], list[int]]:
    frame, assumed, lines = read_delimited(
        text.removeprefix("\ufeff").encode(), "x.csv", None, None
    )
    return frame, assumed, list(lines)


def same(text: str) -> bool:
    """Check that the text gives the same in blocks; return whether it could be read in blocks."""
    found, narrow = in_blocks(text), in_blocks(text, narrow=True)
    assert (found is None) == (narrow is None)
    if found is not None and narrow is not None:
        assert narrow[0].cast(found[0].schema).equals(found[0]) and narrow[1:] == found[1:]
        expected = whole(text)
        assert found[0].equals(expected[0]) and found[0].schema == expected[0].schema
        assert found[1:] == expected[1:]
    return found is not None


@pytest.mark.parametrize(
    "text",
    [
        HEADER + ROWS,
        ROWS,
        ROWS.rstrip("\n"),
        "\ufeff" + HEADER + ROWS,
        (HEADER + ROWS).replace("\n", "\r\n"),
        (HEADER + ROWS).replace(",", "\t"),
        (HEADER + ROWS).replace(",", "::"),
        HEADER + ROWS.replace("\n12,", "\nu12,").replace("\n0,", "\nu0,").replace("0,0,", "u,0,"),
        HEADER + ROWS.replace(",0.5\n", ",NA\n").replace(",7.5\n", ",\n"),
        HEADER + "".join(f"{k},{k},{k}\n" for k in range(N)) + "1,999,2.5\n",
    ],
)
def test_plain_tables_are_read_in_blocks(text: str) -> None:
    found = in_blocks(text)
    if text.count("u12") == 0:  # a column of both numbers and words is not
        assert found is not None
    assert same(text) == (found is not None)


@pytest.mark.parametrize("late", ["007", "+7", " 7", "-0", "9" * 20, "NA", "x"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_late_field_in_another_notation_changes_the_column_as_it_does_in_the_whole(
    late: str, place: int
) -> None:
    fields = ["3", "999", "4"]
    fields[place] = late
    numbers = "".join(f"{k},{k * k},{k % 5}\n" for k in range(N))
    same(HEADER + numbers + ",".join(fields) + "\n" + numbers.replace("0,0,0\n", ""))


@given(st.lists(st.tuples(field, field, field), min_size=2, max_size=40))
def test_any_fields_give_the_same(rows: list[tuple[str, str, str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streamed, "FIRST_BLOCK", 16)
        patch.setattr(streamed, "BLOCK", 48)
        text = HEADER + "".join(",".join(row) + "\n" for row in rows)
        try:
            same(text)
        except DataError as cause:
            with pytest.raises(DataError) as again:
                whole(text)
            assert str(again.value) == str(cause)  # noqa: PT017


@pytest.mark.parametrize(
    "text",
    [
        HEADER + ROWS + '"1",2,3\n',
        HEADER + ROWS + "\n" + ROWS.replace("0,0,", "0,1,"),
        HEADER + ROWS + "1,2,3,4\n",
        "\n" + HEADER + ROWS,
        '{"user": 1}\n' * N,
    ],
)
def test_other_text_is_left_to_the_whole_reader(text: str) -> None:
    assert in_blocks(text) is None


def test_skipped_lines_count(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "by us\n\n" + HEADER + ROWS
    read = stream_delimited(io.BytesIO(text.encode()), "x.csv", None, None, first_line=3)
    assert read is not None and read[2][0] == 4 and len(read[0]) == N
