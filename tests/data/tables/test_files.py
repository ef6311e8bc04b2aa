import gzip
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.real_data import real_file

from grassvine.data.tables import read_table
from grassvine.foundations.errors import DataError

Write = Callable[[pl.DataFrame, Path], Any]
WRITERS: dict[str, Write] = {
    "x.csv": lambda frame, path: frame.write_csv(path),
    "x.tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    "semicolons.csv": lambda frame, path: frame.write_csv(path, separator=";"),
    "bars.txt": lambda frame, path: frame.write_csv(path, separator="|"),
    "dos.csv": lambda frame, path: frame.write_csv(path, line_terminator="\r\n"),
    "marked.csv": lambda frame, path: frame.write_csv(path, include_bom=True),
    "x.csv.gz": lambda frame, path: path.write_bytes(gzip.compress(frame.write_csv().encode())),
    "x.parquet": lambda frame, path: frame.write_parquet(path),
    "x.feather": lambda frame, path: frame.write_ipc(path, compression="lz4"),
    "stream.arrow": lambda frame, path: frame.write_ipc_stream(path),
    "x.jsonl": lambda frame, path: frame.write_ndjson(path),
    "packed.jsonl.gz": lambda frame, path: path.write_bytes(
        gzip.compress(frame.write_ndjson().encode())
    ),
}

# Text in which nothing is a number on its own, with all that a separator or quote could upset.
words = st.text(st.sampled_from('aé,;|\t":\n '), max_size=6).map(lambda text: "w" + text)
rows = st.lists(
    st.tuples(words, st.integers(-(2**63), 2**63 - 1), st.floats(-1e6, 1e6)),
    min_size=2,
    max_size=12,
)


@pytest.mark.parametrize("name", WRITERS)
@given(rows)
def test_what_is_written_is_read(name: str, table: list[tuple[str, int, float]]) -> None:
    frame = pl.DataFrame(
        table,
        schema={"user": pl.String, "item": pl.Int64, "rating": pl.Float64},
        orient="row",
    ).with_columns(pl.col("rating") + 0.5 * (pl.col("rating") % 1 == 0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        WRITERS[name](frame, path)
        assert_frame_equal(read_table(path).frame, frame, check_exact=False, rel_tol=1e-15)


@given(st.lists(st.tuples(st.integers(1, 99), st.integers(1, 99)), min_size=1))
def test_the_form_of_movielens_is_read(pairs: list[tuple[int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.dat"
        path.write_text("".join(f"{user}::{item}::4::978300760\n" for user, item in pairs))
        table = read_table(path)
    assert table.frame.select("column 1", "column 2").rows() == pairs
    assert table.assumed == (
        f"{path} is separated by '::'.",
        f"{path} has no header; its columns are named column 1 … column 4.",
    )


def read(tmp_path: Path, content: str | bytes, name: str = "x", **options: Any) -> pl.DataFrame:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, **options).frame


COLUMNS = {
    "whole numbers": (["7", "-3", "0"], [7, -3, 0]),
    "a leading zero anywhere": (["7", "12", "007"], ["7", "12", "007"]),
    "a sign": (["+49170", "7"], ["+49170", "7"]),
    "minus zero": (["-0", "7"], [0.0, 7.0]),
    "twenty digits": (["12345678901234567890", "7"], ["12345678901234567890", "7"]),
    "the largest": ([str(2**63 - 1), "7"], [2**63 - 1, 7]),
    "fractions": (["4.5", "4", ".5", "1e-3", "5."], [4.5, 4.0, 0.5, 0.001, 5.0]),
    "a fraction with zeros before": (["00.5", "1"], ["00.5", "1"]),
    "infinite": (["inf", "1.5"], [float("inf"), 1.5]),
    "missing among numbers": (["NA", "1", "nan", "2"], [None, 1, None, 2]),
    "missing among fractions": (["", "1.5", "null", "2"], [None, 1.5, None, 2.0]),
    "missing among words": (["NA", "word"], ["NA", "word"]),
    "spaces around numbers": ([" 7", "8 "], [7, 8]),
    "spaces around words": ([" a", "a "], [" a", "a "]),
    "a late word": (["1"] * 300 + ["x"], ["1"] * 300 + ["x"]),
    "decimal commas": (["4,5", "3,0"], ["4,5", "3,0"]),
    "truth": (["true", "false"], ["true", "false"]),
}


@pytest.mark.parametrize(("fields", "wanted"), COLUMNS.values(), ids=COLUMNS)
def test_text_becomes_numbers_only_where_nothing_is_lost(
    tmp_path: Path, fields: list[str], wanted: list[Any]
) -> None:
    lines = "".join(f"{field};x\n" for field in fields)
    column = read(tmp_path, "id;other\n" + lines, separator=";", header=True)["id"]
    assert column.to_list() == wanted


@pytest.mark.parametrize(
    ("content", "header"),
    [
        ("user,item,rating\n1,2,3\n", True),
        ("1,2,3\n1,3,3\n", False),
        ("1,2,3\n", False),
        ("anna,x,5\nben,x,4\n", False),
        ("who,what,how\nanna,x,5\n", True),
        ("user,item,rating\nanna,x,good\n", True),  # a column of ratings that are no numbers
        ("0,1,y\n0.5,0.25,7\n", True),  # features named by numbers
        ("1,2,NA\n1,3,4\n2,3,5\n", False),
    ],
)
def test_the_header_is_detected_and_reported(tmp_path: Path, content: str, header: bool) -> None:
    path = tmp_path / "x"
    path.write_text(content)
    table = read_table(path)
    assert any("has a header" in sentence for sentence in table.assumed) == header
    assert any("has no header" in sentence for sentence in table.assumed) != header
    assert len(table.frame) == content.count("\n") - header
    told = read_table(path, header=header, separator=",")
    assert told.assumed == () and told.frame.equals(table.frame)


def test_of_several_separators_the_one_that_cuts_evenly_is_taken(tmp_path: Path) -> None:
    assert read(tmp_path, "1;2;4,5\n1;3;3,5\n").width == 3
    assert read(tmp_path, "u;i;r\n1;2;4,5\n1;3;4\n").columns == ["u", "i", "r"]
    assert read(tmp_path, 'u,i\n"a;b",1\n"c;d",2\n').width == 2


def test_blank_lines_are_skipped_and_reported(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("user,item,rating\n\n1,2,3\n\n1,3,3\r\n\r\n")
    table = read_table(tmp_path / "x")
    assert table.frame.rows() == [(1, 2, 3), (1, 3, 3)]
    assert "blank lines in" in table.assumed[-1]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"user,item\na,1\n")))
    table = read_table("-")
    assert table.frame.rows() == [("a", 1)]
    assert table.assumed[0] == "standard input is separated by commas."


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


class Own(pa.ExtensionType):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(pa.int64(), "grassvine.test")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


def feather_of_own_type() -> bytes:
    file = io.BytesIO()
    table = pa.table({"user": pa.ExtensionArray.from_storage(Own(), pa.array([1, 2]))})
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


GOOD = "user,item,rating\n1,2,3\n"
REFUSALS: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "x is empty; download or create it again"),
    "blanks": (" \n\n", "x is empty; download or create it again"),
    "a header only": ("user,item,rating\n", "x has a header but no rows; use a table with"),
    "a web page": ("<!DOCTYPE html>\n", "x is a web page, perhaps from a failed download"),
    "no zip": (b"PK\x03\x04 and so on", "x is truncated or corrupt"),
    "an old Excel sheet": (b"\xd0\xcf\x11\xe0 and so on", "x is an Excel workbook; .* as CSV"),
    "gzip in gzip": (gzip.compress(gzip.compress(b"a")), "x is compressed with gzip; decompress"),
    "gzip cut off": (
        gzip.compress(GOOD.encode() * 99)[:-9],
        r"x is truncated or corrupt \(.*downl",
    ),
    "a gzip bomb": (gzip.compress(bytes(2**22)), "x expands to more than 200 times its size"),
    "a database": (b"SQLite format 3\0", "x is an SQLite database; export the table as CSV"),
    "bytes": (b"a,b\n1,\0\n", "x is not a table in a supported format; use CSV, TSV, Parq"),
    "one column": (
        "user\nanna\n",
        "neither tabs, .* split the lines .*'user'.*use separator, skip",
    ),
    "two of a name": ("user,user,rating\n1,2,3\n", "x has several columns named 'user'; give"),
    "too many fields": (GOOD + "1,3,4\n" * 99 + "1,2,4,5\n", "line 102 of .* has 4 fields, .* 3;"),
    "too many fields at once": ("1,2,4\n1,3,4,5\n2,3,5\n", "line 2 of .* has 4 fields, but the fi"),
    "an open quote": (GOOD + '1,"3,4\n', "x has an unclosed or misplaced quotation mark"),
    "latin-1": (b"user,item\nren\xe9,2\n", "line 2 of .* is not valid UTF-8; save the file as"),
    "late latin-1": (b"user,item\n" + b"a,1\n" * 20000 + b"\xe9,1\n", "line 20002 of .* UTF-8"),
    "mixed JSON": ('{"u": 7}\n{"u": "7"}\n', "column 'u' of .* different types, such as 7 and '7'"),
    "broken JSON": (
        '{"u": 7}\n{"u": \n',
        "line 2 of .* is not valid JSON .*; write one object per",
    ),
    "deep JSON": ('{"u": 7}\n{"u": ' + "[" * 100_000, "line 2 of .* JSON .it is nested too deeply"),
    "deep JSON at once": ('{"u": ' + "[" * 100_000, "line 1 of .* JSON .it is nested too deeply"),
    "half a surrogate pair": ('{"u": "\\ud800"}\n', "line 1 of .* contains half a surrogate pair"),
    "infinite JSON": ('{"u": 1e999}\n', "line 1 of .* JSON .1e999 is too large for a float"),
    "long JSON": (
        f'{{"u": {2**64}}}\n',
        "column 'u' of .* 18446744073709551616, which is not a",
    ),
    "long JSON beside a float": (f'{{"u": 1.5}}\n{{"u": {10**400}}}\n', "is not a 64-bit integer"),
    "JSON lists": ('{"u": [1]}\n', "column 'u' of .* contains lists or objects; remove it, or"),
    "other JSON": ('{"u": 7}\n[1]\n', "line 2 of .* is not a JSON object; write one object per"),
    "broken Parquet": (b"PAR1 and so on", r"x cannot be read \(.*\); save it again"),
    "Parquet cut off": (parquet(u=list(range(99)))[:-40], r"x cannot be read \(.*\); save it"),
    "no rows": (parquet(u=[]), "x has columns but no rows; use a table with at least one row"),
    "lists": (parquet(u=[[1]], i=[2]), r"column 'u' of .*x is of type List.*; remove it, or"),
    "a type of its own": (
        feather_of_own_type(),
        "column 'user' of .* is of type Ext.*remove it, or",
    ),
}


@pytest.mark.parametrize(("content", "message"), REFUSALS.values(), ids=REFUSALS)
def test_what_is_no_table_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, content)


@given(
    st.one_of(
        st.binary(max_size=60),
        st.tuples(
            st.sampled_from([b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff", b"\x1f\x8b", b'{"a":']),
            st.binary(max_size=60),
        ).map(b"".join),
        st.text(st.sampled_from('a1.,;|:\t"\r\n '), max_size=40).map(str.encode),
    )
)
def test_whatever_is_given_is_a_table_or_refused_in_words(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(content)
        said = ""
        try:
            assert len(read_table(path).frame)
        except DataError as refusal:
            said = str(refusal)
        assert not said or str(path) in said


def test_a_place_without_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere does not exist; use an existing file \(CSV"):
        read_table(tmp_path / "nowhere")
    with pytest.raises(DataError, match="is a folder; use a table file inside it"):
        read_table(tmp_path)
    with pytest.raises(DataError, match="the separator '' is invalid; use one such as"):
        read(tmp_path, GOOD, separator="")


def test_json_keys_may_be_absent(tmp_path: Path) -> None:
    frame = read(tmp_path, '{"u": 1}\n\n{"u": 2.5, "i": "a"}\n', "x.jsonl")
    assert frame.rows() == [(1.0, None), (2.5, "a")]


def test_movielens_100k_is_read_as_polars_reads_it() -> None:
    path = real_file("ml-100k/u.data")
    wanted = pl.read_csv(path, separator="\t", has_header=False)
    assert read_table(path).frame.rows() == wanted.rows()
