from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from grassvine.foundations.errors import DataError, PlanError
from grassvine.foundations.options import rank_within, real_number, whole_number


@pytest.mark.parametrize("value", [3, np.int32(3), np.uint8(3)])
def test_whole_numbers_of_any_kind_become_plain_ints(value: Any) -> None:
    number = whole_number("n_slots", value, least=0)
    assert number == 3 and type(number) is int


@pytest.mark.parametrize("value", [True, np.True_, 3.0, np.float64(3), "3", None, [3]])
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(PlanError, match=r"^n_slots must be an integer, not .*; pass an int"):
        whole_number("n_slots", value, least=0)


@pytest.mark.parametrize("value", [1, 6])
def test_a_whole_number_outside_its_bounds_is_refused(value: int) -> None:
    with pytest.raises(PlanError, match=f"^n_slots is {value}; choose a number from 2 to 5"):
        whole_number("n_slots", value, least=2, most=5)


def test_a_whole_number_without_upper_bound_names_the_lower_one() -> None:
    with pytest.raises(DataError, match=r"^n_slots is -1, but time runs on; .* at least 0"):
        whole_number("n_slots", -1, least=0, why="time runs on", error=DataError)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int8(1), Fraction(1, 2)])
def test_real_numbers_of_any_kind_become_plain_floats(value: Any) -> None:
    number = real_number("noise", value)
    assert number == value and type(number) is float


@pytest.mark.parametrize("value", [True, "0.5", None, 1j, [0.5]])
def test_what_is_no_real_number_is_refused(value: Any) -> None:
    with pytest.raises(PlanError, match=r"^noise must be a number, not .*; pass a float"):
        real_number("noise", value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_real_number_must_be_finite(value: float) -> None:
    with pytest.raises(DataError, match=f"^noise is {value}; choose a finite number"):
        real_number("noise", value, error=DataError)


@pytest.mark.parametrize("value", [-0.1, 1.0])
def test_a_real_number_outside_its_bounds_is_refused(value: float) -> None:
    with pytest.raises(PlanError, match=f"noise is {value:g}; .* at least 0 and below 1"):
        real_number("noise", value, least=0.0, below=1.0)


def test_bounds_are_within_but_for_the_upper_one_of_a_real_number() -> None:
    assert [whole_number("n_slots", value, least=2, most=5) for value in (2, 5)] == [2, 5]
    assert [rank_within(value, 6) for value in (1, 6)] == [1, 6]
    assert real_number("noise", 0.0, least=0.0, below=1.0) == 0.0


@pytest.mark.parametrize("rank", [-1, 0, 7])
def test_a_rank_outside_the_items_is_refused(rank: int) -> None:
    with pytest.raises(PlanError, match=f"rank is {rank}, but a subspace of 6 items.* from 1 to 6"):
        rank_within(rank, 6)


@pytest.mark.parametrize("rank", [True, 2.0])
def test_a_rank_that_is_no_whole_number_is_refused(rank: Any) -> None:
    with pytest.raises(DataError, match=f"rank must be an integer, not {rank}"):
        rank_within(rank, 6, error=DataError)
