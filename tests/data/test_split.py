from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.data import Ratings, Tasks, split_samples, split_tasks, split_users
from grassvine.foundations.errors import DataError


@dataclass(frozen=True)
class Splitter:
    """A splitter, data of ``total`` things that bear their own numbers, and those of a part."""

    make: Callable[[int], Any]
    split: Callable[[Any, Any], list[Any]]
    numbers: Callable[[Any], list[float]]


def numbered_ratings(total: int) -> Ratings:
    return Ratings.from_arrays(np.arange(total), np.zeros(total, int), np.arange(total), n_items=2)


def numbered_tasks(total: int) -> Tasks:
    return Tasks.from_arrays([np.eye(1)] * total, [[number] for number in range(total)])


SPLITTERS = {
    "users": Splitter(numbered_ratings, split_users, lambda part: part.values.tolist()),
    "tasks": Splitter(numbered_tasks, split_tasks, lambda part: [y.item() for y in part.targets]),
    "samples": Splitter(
        lambda total: np.arange(float(total))[:, None],
        split_samples,
        lambda part: part[:, 0].tolist(),
    ),
}
every_splitter = pytest.mark.parametrize("name", SPLITTERS)


@st.composite
def shares(draw: st.DrawFn) -> tuple[int, int]:
    total = draw(st.integers(1, 60))
    return total, draw(st.integers(1, total))


def parts_of(name: str, total: int, n_agents: int) -> list[list[float]]:
    splitter = SPLITTERS[name]
    return [splitter.numbers(part) for part in splitter.split(splitter.make(total), n_agents)]


@every_splitter
@given(shares())
def test_everything_goes_to_exactly_one_agent_in_order(name: str, share: tuple[int, int]) -> None:
    numbers = [number for part in parts_of(name, *share) for number in part]
    assert numbers == list(range(share[0]))


@every_splitter
@given(shares())
def test_every_agent_has_a_share_and_shares_differ_by_one(
    name: str, share: tuple[int, int]
) -> None:
    sizes = [len(part) for part in parts_of(name, *share)]
    assert len(sizes) == share[1] and min(sizes) > 0
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("name", ["users", "tasks"])
def test_every_part_keeps_all_items(name: str) -> None:
    data = SPLITTERS[name].make(5)
    assert {part.n_items for part in SPLITTERS[name].split(data, 3)} == {data.n_items}


@every_splitter
@pytest.mark.parametrize(
    ("n_agents", "message"),
    [
        (4, "n_agents is 4, but there are 3 {} and each agent needs one; .* from 1 to 3"),
        (0, "n_agents is 0, but there are 3 {}.*; choose a number from 1 to 3"),
        (True, "n_agents must be a whole number, not True; give an int"),
        (2.0, "n_agents must be a whole number, not 2.0; give an int"),
    ],
)
def test_a_number_of_agents_that_does_not_fit_is_refused(
    name: str, n_agents: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message.format(name)):
        parts_of(name, 3, n_agents)
