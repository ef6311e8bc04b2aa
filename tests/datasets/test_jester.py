import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.datasets.rating_files import as_dict, jester_line
from tests.real_data import real_file

from grassvine.datasets import published_text, read_jester
from grassvine.foundations.errors import DataError

hundredths = st.integers(-1000, 1000).map(lambda number: number / 100)
people = st.lists(
    st.dictionaries(st.integers(1, 100), hundredths, min_size=1, max_size=5), min_size=1, max_size=8
)


@given(people, st.sampled_from(["", "\ufeff"]), st.sampled_from([1, 600, 2**25]))
def test_what_is_written_is_read_in_blocks_of_any_size(
    users: list[dict[int, float]], mark: str, block: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(published_text, "BLOCK", block)
        content = mark + "".join(map(jester_line, users))
        (Path(folder) / "jester-data-1.csv").write_text(content, encoding="utf-8")
        found = as_dict(read_jester(folder))
    assert found == {
        (user, joke): rating
        for user, ratings in enumerate(users, start=1)
        for joke, rating in ratings.items()
    }


GOOD = jester_line({3: -9.95, 100: 10.0})
REFUSALS = {
    "a rating less": (
        GOOD + jester_line({5: 1.0}, count=2),
        "line 2 of .* claims 2 ratings but has 1",
    ),
    "no count": (GOOD + GOOD.replace("2,", "two,", 1), "line 2 of .* claims two ratings but has"),
    "a rating too high": (GOOD + jester_line({5: 10.5}), "line 2 of .* not a number from −10"),
    "a rating too low": (GOOD + jester_line({5: -99}), "line 2 of .* not a number from −10"),
    "a word": (GOOD + GOOD.replace("10\n", "ha\n"), "line 2 of .* not a number from −10 to 10"),
    "an empty cell": (GOOD + GOOD.replace("-9.95", ""), "line 2 of .* not a number from −10"),
    "a mark before": ("\ufeff" + GOOD + jester_line({5: 1.0}, count=2), "line 2 of .* claims 2"),
    "a line cut off": (GOOD + GOOD[:40], "line 2 of .* has .* columns, not 101"),
    "a column less": (GOOD.replace("99,", "", 1), "line 1 of .* has 100 columns, not 101"),
    "a column more": (GOOD.replace("99,", "99,99,", 1), "line 1 of .* has 102 columns, not 101"),
    "semicolons": (GOOD.replace(",", ";"), "line 1 of .* has 1 columns, not 101"),
    "nothing": ("", "jester-data-1.csv is empty"),
}


@pytest.mark.parametrize(("content", "message"), REFUSALS.values(), ids=REFUSALS)
def test_a_faulty_file_is_refused_with_the_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "jester-data-1.csv").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_jester(tmp_path)


def test_a_sheet_is_to_be_exported(tmp_path: Path) -> None:
    sheet = tmp_path / "jester-data-1.xls"
    sheet.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    message = r"jester-data-1\.xls is the published spreadsheet; export it as CSV to jester-"
    for path in (sheet, tmp_path):
        with pytest.raises(DataError, match=message):
            read_jester(path)
    renamed = sheet.rename(tmp_path / "jester-data-1.csv")
    with pytest.raises(
        DataError, match="is an Excel workbook; open it and export the sheet as CSV"
    ):
        read_jester(renamed)


def test_the_csv_beside_the_sheet_is_read(tmp_path: Path) -> None:
    (tmp_path / "jester-data-1.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    (tmp_path / "jester-data-1.csv").write_text(GOOD)
    assert as_dict(read_jester(tmp_path)) == {(1, 3): -9.95, (1, 100): 10.0}


def test_the_published_file_has_the_published_range() -> None:
    values = read_jester(real_file("jester1/jester-data-1.csv")).ratings.values
    assert (values.min(), values.max()) == (-9.95, 10.0)
