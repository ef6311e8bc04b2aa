"""Splits of events: what is held out is what the name says, and nothing is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grassvine as gv
from grassvine.data.event_splits import masks_of_split
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError
from grassvine.foundations.seeds import stream

HOW = ("random", "users", "last", "time")


def events(seed: int = 0) -> tuple[gv.Ratings, Indices]:
    """Up to ten events of each of 50 users, some of whom have none or one, with times."""
    rng = stream(seed, "data", "events")
    known = rng.random((50, 30)) < rng.choice([0.0, 0.03, 0.3], (50, 1))
    known[:4, :5] = True
    users, items = np.nonzero(known)
    table = gv.Ratings.from_arrays(users, items, np.ones(len(users)), n_users=50, n_items=30)
    return table, rng.permutation(table.n_values)


@pytest.mark.parametrize("how", HOW)
@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.1, 0.2, 0.5]))
def test_every_event_is_in_one_part_and_a_seed_names_a_split(
    how: str, seed: int, share: float
) -> None:
    table, times = events(seed)
    fit, known, test = masks_of_split(table, how, share, seed, times)
    parts = [fit.astype(int), test.astype(int), *([] if known is None else [known.astype(int)])]
    assert (np.sum(parts, axis=0) == 1).all()
    again = masks_of_split(table, how, share, seed, times)
    np.testing.assert_array_equal(again[2], test)


@given(seed=st.integers(0, 2**32))
def test_at_random_every_user_keeps_an_event_and_loses_about_its_share(seed: int) -> None:
    table, _ = events(seed)
    fit, _, test = masks_of_split(table, "random", 0.2, seed)
    counts, held = np.diff(table.starts), np.bincount(table.users_of_values()[test], minlength=50)
    assert (held[counts > 0] < counts[counts > 0]).all()
    assert (np.abs(held - 0.2 * counts) <= 1.0).all()
    assert fit.sum() + test.sum() == table.n_values


def test_users_that_are_held_out_are_not_fitted() -> None:
    table, _ = events()
    fit, known, test = masks_of_split(table, "users", 0.2, 3)
    assert known is not None
    user = table.users_of_values()
    chosen = np.unique(user[known | test])
    assert not np.isin(user[fit], chosen).any()
    assert 1 <= len(chosen) <= 10


def test_the_last_event_of_each_user_is_the_latest() -> None:
    table, times = events()
    fit, _, test = masks_of_split(table, "last", 0.0, 0, times)
    user = table.users_of_values()
    for one in range(table.n_users):
        mine = user == one
        assert np.count_nonzero(test[mine]) == int(mine.sum() >= 2)
        if test[mine].any() and fit[mine].any():
            assert times[mine & test][0] > times[mine & fit].max()


def test_by_time_the_test_is_later_than_all_that_is_fitted() -> None:
    table, times = events()
    fit, _, test = masks_of_split(table, "time", 0.25, 0, times)
    assert times[test].min() > times[fit].max()
    assert np.mean(test) == pytest.approx(0.25, abs=0.01)
    tied = np.repeat([0, 1], [table.n_values - 1, 1])
    assert masks_of_split(table, "time", 0.25, 0, tied)[2].sum() == 1


def test_bad_splits_are_refused_in_a_sentence() -> None:
    table, times = events()
    with pytest.raises(DataError, match="did you mean 'random'"):
        masks_of_split(table, "randm", 0.2, 0)
    with pytest.raises(DataError, match="needs times, and the table has none"):
        masks_of_split(table, "last", 0.2, 0)
    with pytest.raises(DataError, match="no event for the test"):
        masks_of_split(table, "random", 0.0, 0)
    with pytest.raises(DataError, match="holdout is 1"):
        masks_of_split(table, "time", 1.0, 0, times)
