from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grassvine.foundations.errors import PlanError
from grassvine.foundations.seeds import stream

Name = tuple[str | int, ...]
DATA: list[Name] = [
    ("data", part)
    for part in (
        *("item factors", "user factors", "places", "noise"),
        *("subspace", "sizes", "features", "weights"),
    )
]
RUN: list[Name] = [("start", 0), ("start", 1), ("timetable",), ("network", "erdos-renyi")]
NAMES = st.lists(st.one_of(st.text(max_size=3), st.integers()), max_size=3)


@given(st.integers(0, 2**70), NAMES)
def test_the_same_seed_and_name_give_the_same_stream(seed: int, names: list[str | int]) -> None:
    one, other = stream(seed, *names), stream(seed, *names)
    assert np.array_equal(one.random(100), other.random(100))


@given(st.integers(0, 2**70), NAMES, NAMES)
def test_streams_of_different_names_differ(
    seed: int, names: list[str | int], others: list[str | int]
) -> None:
    assume(names != others)
    shared = np.intersect1d(stream(seed, *names).random(100), stream(seed, *others).random(100))
    assert len(shared) == 0


@given(st.integers(0, 2**70), st.integers(0, 2**70), NAMES)
def test_streams_of_different_seeds_differ(seed: int, other: int, names: list[str | int]) -> None:
    assume(seed != other)
    shared = np.intersect1d(stream(seed, *names).random(100), stream(other, *names).random(100))
    assert len(shared) == 0


@pytest.mark.parametrize(
    ("names", "others"),
    [(("start", 3), ("start", "3")), (("a", "b"), ("ab",)), (("a",), ("a", "")), ((), ("",))],
)
def test_names_are_distinguished_by_type_and_number(names: Name, others: Name) -> None:
    assert stream(0, *names).random() != stream(0, *others).random()


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize(("of_data", "of_run"), list(product(DATA, RUN)))
def test_the_streams_of_data_and_of_runs_share_no_number(
    of_data: Name, of_run: Name, seed: int
) -> None:
    one, other = (stream(seed, *names).standard_normal(100) for names in (of_data, of_run))
    assert len(np.intersect1d(one, other)) == 0


def test_streams_of_different_names_are_uncorrelated() -> None:
    n = 10_000
    one, other = (stream(0, *names).standard_normal(n) for names in (DATA[0], RUN[0]))
    # The mean of n products of independent standard normals has deviation 1/√n; five of them.
    assert abs(np.mean(one * other)) < 5 / np.sqrt(n)


def test_a_stream_stays_what_it_was() -> None:
    # Recorded once: published seeds must go on giving the published numbers.
    raw = stream(0, "start", 3).bit_generator.random_raw(2)
    assert raw.tolist() == [9462248056695268701, 9094725186342904022]


def test_a_number_from_numpy_names_the_same_stream() -> None:
    number: Any = np.int64(3)
    assert stream(0, "start", number).random() == stream(0, "start", 3).random()


@pytest.mark.parametrize("seed", [-1, 1.5, True])
def test_a_seed_is_a_whole_number_from_zero(seed: Any) -> None:
    with pytest.raises(PlanError, match="seed"):
        stream(seed, "start")
