"""Measures of ranked lists, held against scikit-learn and against sums done by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score, roc_auc_score

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, PlanError
from grassvine.foundations.seeds import stream
from grassvine.metrics import (
    Hits,
    auc,
    average_precision,
    coverage,
    found,
    ndcg,
    paired_difference,
    precision,
    recall,
)

# Two users: items 3 and 0 of five are relevant to the first, items 1, 2 and 4 to the second.
RELEVANT = gv.Ratings.from_arrays([0, 0, 1, 1, 1], [3, 0, 1, 2, 4], np.ones(5), n_items=5)
LISTS = np.array([[3, 1, 0], [0, 2, -1]])
N_RELEVANT = np.diff(RELEVANT.starts)


def test_measures_done_by_hand() -> None:
    hits = found(LISTS, RELEVANT)
    assert hits.tolist() == [[True, False, True], [False, True, False]]
    first = (1.0 + 1.0 / math.log2(4)) / (1.0 + 1.0 / math.log2(3))
    second = (1.0 / math.log2(3)) / (1.0 + 1.0 / math.log2(3) + 1.0 / math.log2(4))
    np.testing.assert_allclose(ndcg(hits, N_RELEVANT, 3), [first, second], rtol=1e-15)
    np.testing.assert_allclose(recall(hits, N_RELEVANT, 3), [1.0, 1 / 3])
    np.testing.assert_allclose(precision(hits, N_RELEVANT, 3), [2 / 3, 1 / 3])
    wanted = [(1.0 + 2 / 3) / 2, (1 / 2) / 3]
    np.testing.assert_allclose(average_precision(hits, N_RELEVANT, 3), wanted)
    assert coverage(LISTS, 5, 3) == 4 / 5
    assert coverage(LISTS, 5, 1) == 2 / 5


def test_lists_shorter_than_k_have_empty_places() -> None:
    hits = found(LISTS, RELEVANT)
    np.testing.assert_allclose(precision(hits, N_RELEVANT, 10), [0.2, 0.1])
    np.testing.assert_allclose(recall(hits, N_RELEVANT, 1), [0.5, 0.0])


def test_users_without_relevant_items_have_no_measure() -> None:
    nobody = gv.Ratings.from_arrays([0], [1], [1.0], n_users=2, n_items=3)
    hits = found(np.array([[1, 2], [1, 0]]), nobody)
    n_relevant = np.diff(nobody.starts)
    for measure in (ndcg, recall, precision, average_precision):
        values = measure(hits, n_relevant, 2)
        assert np.isfinite(values[0]) and np.isnan(values[1])


def random_table(seed: int) -> tuple[Array, Hits]:
    """Scores of 12 items by 30 users without ties, and which items are relevant."""
    rng = stream(seed, "data", "relevance")
    scores = rng.permuted(np.tile(np.arange(12.0), (30, 1)), axis=1)
    relevance = rng.random((30, 12)) < 0.3
    relevance[:, 0] |= ~relevance.any(axis=1)
    relevance[0, :6] = [True, False] * 3
    return scores, relevance


@given(seed=st.integers(0, 2**32), k=st.integers(1, 15))
def test_ndcg_is_that_of_scikit_learn(seed: int, k: int) -> None:
    scores, relevance = random_table(seed)
    users, items = np.nonzero(relevance)
    relevant = gv.Ratings.from_arrays(users, items, np.ones(len(users)), n_users=30, n_items=12)
    lists = np.argsort(-scores, axis=1)[:, :k]
    own = ndcg(found(lists, relevant), np.diff(relevant.starts), k)
    theirs = ndcg_score(relevance.astype(float), scores, k=k)
    assert float(np.nanmean(own)) == pytest.approx(theirs, rel=1e-12)


@given(seed=st.integers(0, 2**32), n_levels=st.sampled_from([3, 1000]))
def test_auc_is_that_of_scikit_learn(seed: int, n_levels: int) -> None:
    """With three levels, many scores are equal and count half."""
    scores, relevance = random_table(seed)
    scores = np.floor(scores * n_levels / 12)
    users, items = np.nonzero(relevance)
    relevant = gv.Ratings.from_arrays(users, items, np.ones(len(users)), n_users=30, n_items=12)
    for user, value in enumerate(auc(scores, relevant)):
        if relevance[user].all():
            assert np.isnan(value)
        else:
            wanted = roc_auc_score(relevance[user], scores[user])
            assert value == pytest.approx(wanted, abs=1e-12)


def test_items_that_are_not_ranked_do_not_count_in_the_auc() -> None:
    scores = np.array([[5.0, 4.0, 3.0, 2.0]])
    relevant = gv.Ratings.from_arrays([0], [1], [1.0], n_items=4)
    seen = gv.Ratings.from_arrays([0], [0], [1.0], n_items=4)
    assert auc(scores, relevant)[0] == pytest.approx(2 / 3)
    assert auc(scores, relevant, seen)[0] == 1.0


def test_a_paired_difference_has_the_error_of_its_mean() -> None:
    mean, error = paired_difference(np.array([1.0, 2.0, 4.0, np.nan]), np.array([0.0, 1.0, 1.0, 1]))
    assert mean == pytest.approx(5 / 3)
    assert error == pytest.approx(np.std([1.0, 1.0, 3.0], ddof=1) / math.sqrt(3))
    assert np.isnan(paired_difference(np.array([1.0]), np.array([0.5]))[1])


def test_lists_of_other_users_or_items_are_refused() -> None:
    with pytest.raises(DataError, match="one list per user"):
        found(LISTS[:1], RELEVANT)
    with pytest.raises(DataError, match="same catalogue"):
        found(np.array([[5], [0]]), RELEVANT)
    with pytest.raises(PlanError, match="k is 0"):
        ndcg(found(LISTS, RELEVANT), N_RELEVANT, 0)
