import re

import pytest

from grassvine.datasets import SOURCES, Source

NAMES = [
    *("ml-100k", "ml-1m", "ml-10m", "ml-20m", "ml-25m", "ml-32m"),
    *("netflix", "jester-1", "school", "parkinsons"),
]
every_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


def test_the_table_is_complete() -> None:
    assert list(SOURCES) == NAMES
    assert all(source.name == name for name, source in SOURCES.items())


@every_source
def test_counts_are_those_of_ratings_or_of_tasks(source: Source) -> None:
    assert list(source.counts) in (["ratings", "users", "items"], ["samples", "tasks", "features"])
    values, private, shared = source.counts.values()
    assert private <= values <= private * shared or "tasks" in source.counts


@every_source
def test_what_can_be_downloaded_is_bound_and_checked(source: Source) -> None:
    if source.address is None:
        assert source.checksum is source.member is None and source.largest_download == 0
        return
    assert source.address.startswith("https://")
    assert source.checksum
    assert re.fullmatch(r"md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}", source.checksum)
    assert 10**6 <= source.largest_download < 3 * 10**8
    assert source.address.endswith(".zip") == (source.member is not None)
    assert len(source.files) == 1 and (source.member or source.address).endswith(source.files[0])


@every_source
def test_whoever_must_get_it_by_hand_learns_where_to_put_it(source: Source) -> None:
    assert f"the folder {source.folders[0]} in GRASSVINE_DATA." in source.by_hand
    assert "cite" in source.terms or "no terms" in source.terms


def test_movielens_10m_is_found_under_its_own_folder_name_too() -> None:
    assert SOURCES["ml-10m"].folders == ("ml-10m", "ml-10M100K")
    assert SOURCES["ml-10m"].member == "ml-10M100K/ratings.dat"
    assert SOURCES["ml-1m"].folders == ("ml-1m",)
