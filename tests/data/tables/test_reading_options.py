"""Encodings, lines before the table, JSON lists and archives."""

import contextlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.data.tables import ratings_from_frame, read_table
from grassvine.foundations.errors import DataError

TABLE = "user,item,rating\nrené,1,4\nzoë,2,5\n"
ROWS = [("rené", 1, 4), ("zoë", 2, 5)]


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16-le"])
def test_a_table_is_read_in_the_encoding_given(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path / "x.csv", TABLE.encode(encoding))
    assert read_table(path, encoding=encoding).frame.rows() == ROWS


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_utf_16_is_known_by_its_byte_order_mark(tmp_path: Path, mark: bytes) -> None:
    text = TABLE.encode("utf-16-le" if mark == b"\xff\xfe" else "utf-16-be")
    read = read_table(write(tmp_path / "x.csv", mark + text))
    assert read.frame.rows() == ROWS
    assert read.assumed[0].endswith("x.csv is encoded in UTF-16.")


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (TABLE.encode("latin-1"), None, "line 2 of .* not valid UTF-8; .* encoding='latin-1'"),
        (TABLE.encode("latin-1"), "utf-8", "line 2 of .* is not valid utf-8; use encoding with"),
        (TABLE.encode(), "latin-one", "encoding is 'latin-one', by which .* cannot be decoded"),
        (TABLE.encode(), "hex", "encoding is 'hex', by which"),
        (TABLE.encode(), "a\0b", "encoding is 'a.*b', by which"),
        (b"\xff\xfe" + b"a\0\n\0" * 2 + b"\x00\xd8", None, "line 3 of .* is not valid utf-16"),
        (TABLE.encode("utf-16-le"), None, "not a table .* encoding='utf-16-le'"),
    ],
)
def test_text_that_cannot_be_decoded_is_refused(
    tmp_path: Path, content: bytes, encoding: str | None, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_table(write(tmp_path / "x.csv", content), encoding=encoding)


def test_lines_before_the_table_are_skipped_and_still_count(tmp_path: Path) -> None:
    content = "exported by a shop\n\n" + TABLE + "ida,3,five\n"
    path = write(tmp_path / "x.csv", content.encode())
    table = read_table(path, skip_rows=2)
    assert table.frame.columns == ["user", "item", "rating"] and len(table.frame) == 3
    with pytest.raises(DataError, match=r"1 of 3 ratings .* is not a number, line 6: 'five'; use"):
        ratings_from_frame(table)
    with pytest.raises(
        DataError, match=r"skip_rows is 6, but .*x.csv has only 6 lines; skip fewer"
    ):
        read_table(path, skip_rows=6)
    with pytest.raises(DataError, match="skip_rows is -1; choose"):
        read_table(path, skip_rows=-1)


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (["a,1,5"] * 3, ["b,1,5"] * 2, 5),
        (["a,1,5", "", "", "a,2,5"], [], 6),
        (['"a\nnna",1,5', '"b\n\nob",2,3'], ["c,1,1"], 7),
        (['"a\nnna",1,5', "", "c,2,3"], ["", '"d\ne",1,2'], 6),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_bad_value_is_named_with_its_line(
    tmp_path: Path, before: list[str], after: list[str], line: int, end: str
) -> None:
    text = end.join(["user,item,rating", *before, "z,9,five", *after]) + end
    table = read_table(write(tmp_path / "x.csv", text.encode()))
    with pytest.raises(DataError, match=rf"^1 of \d+ ratings .* is not a number, line {line}: 'fi"):
        ratings_from_frame(table)


def test_one_bad_value_among_200_is_one_and_what_was_detected_is_reported(tmp_path: Path) -> None:
    rows = [f"u{k},{k},{1 + k % 5}" for k in range(200)]
    rows[4] = "u4,4,five"
    path = write(
        tmp_path / "x.csv", "\n".join(["user;item;rating", *rows]).replace(",", ";").encode()
    )
    with pytest.raises(DataError, match=r"^1 of 200 ratings .* line 6: 'five'") as caught:
        ratings_from_frame(read_table(path))
    assert caught.value.__notes__ == [
        f"{path} is separated by semicolons.",
        f"{path} has a header.",
        "By name, 'user' holds the users, 'item' holds the items, 'rating' holds the ratings.",
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,2,", r"1 of 2 ratings are missing, NaN or infinite \(line 3\); .* use missing='drop'"),
        (",2,4", r"1 of 2 user ids are missing \(line 3\)"),
    ],
)
def test_missing_values_are_named_with_their_line(tmp_path: Path, row: str, message: str) -> None:
    table = read_table(write(tmp_path / "x.csv", f"user,item,rating\na,1,5\n{row}\n".encode()))
    with pytest.raises(DataError, match=message):
        ratings_from_frame(table)


def test_json_lines_are_named_too(tmp_path: Path) -> None:
    text = '{"user": 1, "item": 1, "rating": 4}\n\n{"user": 2, "item": 1, "rating": null}\n'
    table = read_table(write(tmp_path / "x.jsonl", text.encode()))
    with pytest.raises(DataError, match=r"infinite \(line 3\)"):
        ratings_from_frame(table)


@given(
    rows=st.lists(
        st.fixed_dictionaries({"user": st.text(max_size=5), "rating": st.integers(-9, 9)}),
        min_size=1,
    ),
    indent=st.sampled_from([None, 2]),
)
def test_a_json_list_is_the_same_table_as_json_lines(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], indent: int | None
) -> None:
    folder = tmp_path_factory.mktemp("json")
    whole = write(folder / "x.json", json.dumps(rows, indent=indent).encode())
    lines = write(folder / "x.jsonl", "\n".join(map(json.dumps, rows)).encode())
    assert read_table(whole).frame.equals(read_table(lines).frame)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "x.json has no rows"),
        ('[{"a": 1}, 7]', "object 2 of .*x.json is not a JSON object"),
        ('[{"a": 1}', "x.json is not valid JSON"),
        ('{\n"a": 1}', "line 1 of .* is not valid JSON"),
        ('[{"a": 1, "b": 2, "a": 3}]', "x.json contains the key 'a' twice; keep one"),
        ('{"a": 1}\n{"a": 1, "a": 2}\n', "line 2 of .*x.json contains the key 'a' twice"),
    ],
)
def test_json_that_is_no_table_is_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_table(write(tmp_path / "x.json", content.encode()))


@pytest.mark.parametrize("number", [2**53, 2**53 + 1, -(2**60)])
def test_ids_that_would_merge_as_floats_are_refused(tmp_path: Path, number: int) -> None:
    text = (
        f'{{"user": {number}, "item": 1, "rating": 4}}\n{{"user": 1.5, "item": 1, "rating": 4}}\n'
    )
    table = read_table(write(tmp_path / "x.jsonl", text.encode()))
    with pytest.raises(DataError, match=r"1 of 2 user ids are floats of 2⁵³ or more.* \(line 1\)"):
        ratings_from_frame(table)


@pytest.mark.parametrize("beside", [{}, {"README.md": b"words", "__MACOSX/x": b"", ".hidden": b""}])
def test_the_only_table_of_a_zip_is_read(tmp_path: Path, beside: dict[str, bytes]) -> None:
    path = write(tmp_path / "x.zip", zipped({"in/ratings.csv": TABLE.encode(), **beside}))
    table = read_table(path)
    assert table.frame.rows() == ROWS
    assert table.assumed[0] == f"in/ratings.csv was read from {path}."


def encrypted(archive: bytes) -> bytes:
    """Set the flag of encryption in both headers."""
    changed = bytearray(archive)
    changed[6] |= 1
    changed[changed.index(b"PK\x01\x02") + 8] |= 1
    return bytes(changed)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zipped({"a.csv": b"1,2\n", "b.csv": b"1,2\n"}), r"2 files \(a.csv, b.csv\); extract the"),
        (zipped({"README": b"words"}), "x contains no table; extract"),
        (zipped({"a": bytes(2**26)}), "x expands to more than 200 times its size"),
        (zipped({"a.csv": TABLE.encode() * 99})[:-30], "x is truncated or corrupt"),
        (
            encrypted(zipped({"a.csv": TABLE.encode()})),
            "a.csv in .* cannot be extracted .*password",
        ),
        (zipped({"a.zip": zipped({"a": b"1,2"})}), "a.zip in .*x is a zip archive; extract it"),
        (
            zipped(
                {
                    "docProps/app.xml": b"x" * 9999,
                    "xl/workbook.xml": b"",
                    "[Content_Types].xml": b"",
                }
            ),
            "x is an Excel workbook; open it and export the sheet as CSV",
        ),
        (zipped({"mimetype": b"", "content.xml": b""}), "x is an OpenDocument file; open it"),
    ],
)
def test_other_archives_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_table(write(tmp_path / "x", content))


@given(changes=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=6))
def test_a_mutated_zip_is_a_table_or_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    content = bytearray(zipped({"ratings.csv": TABLE.encode()}))
    for position, byte in changes:
        content[position % len(content)] = byte
    path = write(tmp_path_factory.mktemp("zip") / "x", bytes(content))
    with contextlib.suppress(DataError):
        assert len(read_table(path).frame) > 0


def test_a_column_named_pk_is_no_zip(tmp_path: Path) -> None:
    assert read_table(write(tmp_path / "x", b"PK,user\n1,2\n")).frame.columns == ["PK", "user"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ratings.xlsx", zipped({"[Content_Types].xml": b"", "xl/workbook.xml": b""})),
        ("ratings.xls", bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504)),
    ],
)
@pytest.mark.parametrize("encoding", [None, "latin-1"])
def test_a_workbook_is_called_one_whatever_the_encoding(
    tmp_path: Path, name: str, content: bytes, encoding: str | None
) -> None:
    with pytest.raises(
        DataError, match=rf"/{name} is an Excel workbook; open it and export the sheet as CSV\.$"
    ):
        read_table(write(tmp_path / name, content), encoding=encoding)
