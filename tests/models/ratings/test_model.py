"""Predictions, recommendations, and users solved without learning anew."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.model_samples import N_ITEMS, N_USERS, ids, item_part, ratings_model
from tests.samples import ratings, scarce_ratings

import grassvine as gv
from grassvine.data.ids import Ids
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import BasisError, DataError, PlanError
from grassvine.models import BiasedSolver, RatingsModel, UserPart
from grassvine.models.ranking import best
from grassvine.sums import BiasedCompletionProblem

USERS = [f"user {number:02}" for number in range(N_USERS)]
ITEMS = [f"film {number:02}" for number in range(N_ITEMS)]
BOTH = pytest.mark.parametrize("paper", [False, True], ids=["item_biases", "paper"])


def unclipped(model: RatingsModel) -> RatingsModel:
    return replace(model, shared=replace(model.shared, lowest=-1e9, highest=1e9))


def whole_table(model: RatingsModel) -> Array:
    """Users×items by the formula."""
    shared, private = model.shared, model.private
    assert private is not None
    products = private.weights @ shared.factors.T
    return shared.centre + shared.item_biases + private.biases[:, None] + products


def table_of(model: RatingsModel, **more: Any) -> Array:
    pairs = [[user, item] for user in USERS for item in ITEMS]
    users, items = zip(*pairs, strict=True)
    return model.predict(users, items, **more).ratings.reshape(N_USERS, N_ITEMS)


@BOTH
def test_predictions_are_the_formula_clipped_to_the_range(paper: bool) -> None:
    model = ratings_model(paper)
    wanted = whole_table(model)[2:, 1:]
    # A product of three terms, added up in another order.
    found = table_of(unclipped(model), on_unknown="nan")[2:, 1:]
    np.testing.assert_allclose(found, wanted, atol=1e-13)
    clipped = table_of(model, on_unknown="nan")[2:, 1:]
    np.testing.assert_allclose(clipped, np.clip(wanted, 0.125, 0.5), atol=1e-13)
    assert (wanted > 0.5).any() and (wanted < 0.125).any()


def test_predictions_with_offsets_are_those_of_the_problem() -> None:
    model, seen = unclipped(ratings_model()), scarce_ratings()
    shared = model.shared
    assert shared.solver == BiasedSolver(2.0, 3.0)
    users, items = seen.users_of_values(), seen.items
    wanted = BiasedCompletionProblem(seen).predict(shared.solver.model(shared), seen)
    found = model.predict([USERS[j] for j in users], [ITEMS[i] for i in items])
    np.testing.assert_allclose(found.ratings, wanted, atol=1e-13)
    assert found.known.all()


@BOTH
def test_users_of_the_paper_s_formulation_fit_centred_ratings(paper: bool) -> None:
    """The residual of a ridge solution is orthogonal to what it may still move."""
    model, seen = ratings_model(paper), scarce_ratings()
    shared, private = model.shared, model.private
    assert private is not None
    for user in range(2, 10):
        mine = slice(seen.starts[user], seen.starts[user + 1])
        rows = shared.factors[seen.items[mine]]
        level = shared.centre + shared.item_biases[seen.items[mine]] + private.biases[user]
        rest = level + rows @ private.weights[user] - seen.values[mine]
        if paper:
            fitted = rows @ private.weights[user]
            force = rows.T @ rest + 0.6 * private.weights[user] - 0.1 * rows.T @ fitted
        else:
            force = rows.T @ rest + 2.0 * private.weights[user]
        # The kernels add 1e-13 of the trace (here at most 47) to a diagonal; weights are about 1.
        np.testing.assert_allclose(force, 0.0, atol=1e-11)


def test_unknown_pairs_are_reported_and_never_silent() -> None:
    model = ratings_model()
    shared, private = model.shared, model.private
    assert private is not None
    users = ["user 05", "user 05", "nobody", "nobody", "user 00", "user 05"]
    items = ["film 03", "nothing", "film 03", "nothing", "film 03", "film 00"]
    found = unclipped(model).predict(users, items, "fallback")
    assert found.known.tolist() == [True, False, False, False, False, False]
    centre, offset, bias = shared.centre, shared.item_biases[3], private.biases[5]
    assert bias and offset
    wanted = [centre + bias, centre + offset, centre, centre + offset, centre + bias]
    np.testing.assert_allclose(found.ratings[1:], wanted, rtol=1e-15)
    nan = model.predict(users, items, "nan")
    assert np.isnan(nan.ratings).tolist() == [False] + 5 * [True]
    with pytest.raises(
        DataError, match=r"the model does not know 2 of the users \('nobody', 'user 00'"
    ):
        model.predict(users, items)
    with pytest.raises(
        DataError, match=r"does not know 1 of the items \('film 00'\): it has no ratings of such"
    ):
        model.predict(["user 05"], ["film 00"])


def test_ids_of_another_type_are_refused_whatever_is_chosen() -> None:
    for choice in ("raise", "nan", "fallback"):
        with pytest.raises(
            DataError, match=r"user ids are whole numbers .* convert them to the same"
        ):
            ratings_model().predict([5], ["film 03"], choice)


def test_a_choice_that_is_none_is_refused() -> None:
    with pytest.raises(PlanError, match=r"on_unknown is 'fall back'; did you mean 'fallback'"):
        ratings_model().predict(["user 05"], ["film 03"], "fall back")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="2 users and 1 items; pass one user and one item per pair"):
        ratings_model().predict(["user 05", "user 06"], ["film 03"])


@BOTH
@pytest.mark.parametrize("exclude_seen", [True, False])
@pytest.mark.parametrize("block", [best.BLOCK, 1, 7 * N_ITEMS])
def test_what_is_recommended_is_the_best_of_the_table(
    paper: bool, exclude_seen: bool, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(best, "BLOCK", block)
    model, seen = unclipped(ratings_model(paper)), scarce_ratings()
    scores = whole_table(model)
    scores[:, 0] = -np.inf
    if exclude_seen:
        scores[seen.users_of_values(), seen.items] = -np.inf
    asked = [USERS[7], *USERS[2:], USERS[7]]  # some twice, and not in order
    found = model.recommend(asked, 6, exclude_seen=exclude_seen)
    assert found.columns == ["user", "item", "score", "rank", "known"]
    wanted = [
        (user, ITEMS[item], rank + 1)
        for user in asked
        for rank, item in enumerate(np.argsort(-scores[USERS.index(user)])[:6])
        if scores[USERS.index(user), item] > -np.inf
    ]
    assert found.select("user", "item", "rank").rows() == wanted
    assert found["known"].all()
    again = model.predict(found["user"], found["item"]).ratings
    np.testing.assert_allclose(found["score"].to_numpy(), again, atol=1e-13)


def test_scores_are_clipped_but_their_order_is_not_lost() -> None:
    model = ratings_model()
    one, other = model.recommend(USERS[2:], 5), unclipped(model).recommend(USERS[2:], 5)
    assert one["item"].equals(other["item"])
    assert one["score"].max() == 0.5 and float(other["score"].max()) > 0.5  # type: ignore[arg-type]


def test_who_has_seen_nearly_all_gets_fewer() -> None:
    table = gv.Ratings.from_arrays(np.zeros(18, int), np.arange(1, 19), np.ones(18), n_items=20)
    folded = ratings_model().fold_in(ids("new ", 1), ids("film ", N_ITEMS), table)
    found = folded.model.recommend(["new 00"], 10)
    assert found.rows() == [("new 00", "film 19", found["score"][0], 1, True)]


def test_unknown_users_are_recommended_what_is_popular() -> None:
    model = ratings_model()
    found = unclipped(model).recommend(["user 05", "nobody"], 3, on_unknown="fallback")
    assert found["known"].to_list() == [True] * 3 + [False] * 3
    popular = np.argsort(-model.shared.counts, kind="stable")[:3]
    assert found["item"][3:].to_list() == [ITEMS[item] for item in popular]
    wanted = model.shared.centre + model.shared.item_biases[popular]
    np.testing.assert_allclose(found["score"][3:].to_numpy(), wanted)
    told = model.recommend(["nobody", "user 05"], 3, on_unknown="nan")
    assert told.select("user", "item", "rank", "known").row(0) == ("nobody", None, 0, False)
    assert np.isnan(told["score"][0]) and len(told) == 4
    with pytest.raises(DataError, match="the model does not know 1 of the users"):
        model.recommend(["nobody"], 3)


def test_a_model_without_users_reports_it_and_can_fold_in() -> None:
    whole = ratings_model()
    alone = RatingsModel(whole.shared)
    with pytest.raises(
        DataError, match="it was fitted or loaded without users; drop them, fold them in"
    ):
        alone.predict(["user 05"], ["film 03"])
    with pytest.raises(
        DataError, match="users_for needs users, but this model was fitted or loaded"
    ):
        alone.users_for("film 03")
    assert not alone.recommend(["user 05"], 2, on_unknown="fallback")["known"].any()
    again = alone.with_users(ids("user ", N_USERS), ids("film ", N_ITEMS), scarce_ratings(0))
    assert_same_users(again.model.private, whole.private)


def assert_same_users(one: UserPart | None, other: UserPart | None) -> None:
    assert one is not None and other is not None
    assert one.users.series.equals(other.users.series)
    for name in ("weights", "biases"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("starts", "items", "values"):
        np.testing.assert_array_equal(getattr(one.seen, name), getattr(other.seen, name))


@BOTH
@given(cut=st.integers(1, N_USERS - 1), share=st.sampled_from([0.0, 0.3, 1.0]))
def test_users_may_come_in_any_portions(paper: bool, cut: int, share: float) -> None:
    """Users before the cut first, with a share of their ratings; then the rest of everything."""
    whole, table = ratings_model(paper), ratings()
    part, films = whole.shared, ids("film ", N_ITEMS)
    part = replace(part, counts=np.maximum(part.counts, 1))
    users = table.users_of_values()
    early = (users < cut) & (np.arange(table.n_values) % 10 < 10 * share)
    early[0] = True
    everyone = ids("user ", N_USERS)
    wanted = part.users_from(everyone, table)
    first = RatingsModel(part, part.users_from(everyone, table.take_values(early)))
    second = first.with_users(everyone, films, table.take_values(~early))
    assert second.n_dropped == 0
    assert_same_users(second.model.private, wanted)


def test_others_keep_their_bits_and_new_ratings_replace_old_ones() -> None:
    model = ratings_model()
    old = model.private
    assert old is not None
    film = int(old.seen.items[old.seen.starts[7]])
    table = gv.Ratings.from_arrays([0, 1], [0, 0], [-1.0, 2.0])
    users, films = Ids(pl.Series(["abel", "user 07"])), Ids(pl.Series([ITEMS[film]]))
    new = model.with_users(users, films, table).model.private
    assert new is not None and new.users.series.to_list() == ["abel", *USERS]
    others = np.arange(N_USERS) != 7
    np.testing.assert_array_equal(new.weights[1:][others], old.weights[others])
    assert (new.weights[8] != old.weights[7]).any()
    assert new.seen.n_values == old.seen.n_values + 1
    mine = slice(new.seen.starts[8], new.seen.starts[9])
    assert new.seen.values[mine][new.seen.items[mine] == film].tolist() == [2.0]
    assert old.seen.values[old.seen.starts[7]] != 2.0


def test_ratings_of_unknown_items_are_refused_or_counted() -> None:
    model = ratings_model()
    films, users = Ids(pl.Series(["film 00", "film 03", "zoo"])), ids("new ", 2)
    table = gv.Ratings.from_arrays([0, 0, 1], [0, 1, 2], [1.0, 2.0, 1.0])
    with pytest.raises(DataError, match=r"2 of 3 ratings are of items .* 'film 00', 'zoo'"):
        model.fold_in(users, films, table)
    folded = model.fold_in(users, films, table, "drop")
    assert folded.n_dropped == 2
    assert folded.model.predict(["new 00", "new 01"], 2 * ["film 03"], "nan").known.tolist() == [
        True,
        False,
    ]
    none = gv.Ratings.from_arrays([0, 1], [0, 2], [1.0, 1.0])
    with pytest.raises(DataError, match="none of the 2 ratings is of an item that the model knows"):
        model.fold_in(users, films, none, "drop")
    with pytest.raises(PlanError, match="unknown_items is 'ignore'; choose"):
        model.fold_in(users, films, table, "ignore")  # type: ignore[arg-type]
    with pytest.raises(
        DataError, match="1 user ids and 3 item ids for ratings of 2 users and 3 item"
    ):
        model.fold_in(ids("new ", 1), films, table)
    one = gv.Ratings.from_arrays([0], [0], [1.0])
    with pytest.raises(DataError, match="the user ids are whole numbers"):
        model.with_users(Ids(pl.Series([7])), Ids(pl.Series(["film 03"])), one)


def test_similar_items_are_those_of_largest_cosine() -> None:
    model = ratings_model()
    found = model.similar_items("film 04", 30)
    factors = model.shared.factors
    cosines = factors @ factors[4] / np.linalg.norm(factors, axis=1) / np.linalg.norm(factors[4])
    order = [item for item in np.argsort(-cosines) if item not in (0, 4)]
    assert found["item"].to_list() == [ITEMS[item] for item in order]
    np.testing.assert_allclose(found["similarity"].to_numpy(), cosines[order], atol=1e-14)
    assert found["rank"].to_list() == list(range(1, N_ITEMS - 1))
    with pytest.raises(DataError, match="does not know 1 of the items"):
        model.similar_items("film 00")


@pytest.mark.parametrize("exclude_seen", [True, False])
def test_users_for_an_item_are_those_of_highest_prediction(exclude_seen: bool) -> None:
    model, seen = unclipped(ratings_model()), scarce_ratings()
    scores = whole_table(model)[:, 4].copy()
    scores[:2] = -np.inf
    if exclude_seen:
        scores[seen.users_of_values()[seen.items == 4]] = -np.inf
    found = model.users_for("film 04", 5, exclude_seen=exclude_seen)
    order = np.argsort(-scores)[:5]
    assert found["user"].to_list() == [USERS[user] for user in order]
    np.testing.assert_allclose(found["score"].to_numpy(), scores[order], atol=1e-13)


def test_parts_must_fit_together() -> None:
    model = ratings_model()
    shared, private = model.shared, model.private
    assert private is not None
    wrong: list[tuple[type[Exception], dict[str, Any], str]] = [
        (BasisError, {"factors": shared.factors[1:]}, "factors has shape 19×3, not 20×rank"),
        (BasisError, {"item_biases": np.full(N_ITEMS, np.nan)}, "item_biases .* is not finite"),
        (BasisError, {"counts": np.full(N_ITEMS, -1)}, "counts are not non-negative integers"),
        (BasisError, {"lowest": 9.0}, "the lowest rating, 9, is above the highest, 0.5"),
        (BasisError, {"centre": np.inf}, "centre is inf"),
        (DataError, {"solver": BiasedSolver(0.0, 1.0)}, "regularization is 0"),
        (BasisError, {"items": ids("film ", 0)}, "the model has no items; pass at least one"),
    ]
    for error, change, message in wrong:
        with pytest.raises(error, match=message):
            replace(shared, **change)
    paper = item_part(scarce_ratings(), paper=True)
    with pytest.raises(BasisError, match="not orthonormal"):
        replace(paper, factors=2.0 * paper.factors)
    with pytest.raises(BasisError, match="the paper's formulation has no item biases"):
        replace(paper, item_biases=np.ones(N_ITEMS))
    with pytest.raises(DataError, match="ratings of 60 users and ids of 59"):
        replace(private, users=ids("user ", 59), weights=private.weights[1:], biases=np.zeros(59))
    narrow = replace(shared, factors=shared.factors[:, :2])
    with pytest.raises(DataError, match="20 items and rank 2, the private part 20 and 3"):
        RatingsModel(narrow, private)


def test_a_watcher_is_told_the_share_and_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best, "BLOCK", 3 * N_ITEMS)
    monkeypatch.setattr(best, "usable_cores", lambda: 1)
    monkeypatch.setattr("grassvine.models.ratings.model.PAIRS", 8)
    model = ratings_model()
    shares: list[float] = []
    watched = model.recommend(k=4, watch=shares.append)
    assert watched.equals(model.recommend(k=4))
    n_known = watched["user"].n_unique()
    assert shares == [min(3 * block, n_known) / n_known for block in range(1, -(-n_known // 3) + 1)]
    shares.clear()
    found = model.predict(USERS[:N_ITEMS], ITEMS, "nan", watch=shares.append)
    wanted = model.predict(USERS[:N_ITEMS], ITEMS, "nan")
    np.testing.assert_array_equal(found.ratings, wanted.ratings)
    assert shares == [8 / N_ITEMS, 16 / N_ITEMS, 1.0]


def test_a_fold_in_reports_its_share() -> None:
    """Users are solved in blocks, whose solutions do not depend on whether someone watches."""
    model, table = ratings_model(), scarce_ratings(1)
    users, films = ids("new ", N_USERS), ids("film ", N_ITEMS)
    for fold_in in (model.fold_in, model.with_users):
        shares: list[float] = []
        watched = fold_in(users, films, table, watch=shares.append).model.private
        alone = fold_in(users, films, table).model.private
        assert shares == sorted(shares) and 0.0 < shares[0] < shares[-1] == 1.0
        assert watched is not None and alone is not None
        assert watched.weights.tobytes() == alone.weights.tobytes()


@pytest.mark.parametrize("threads", [1, 4])
def test_each_block_of_users_solved_is_reported(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    table, basis = scarce_ratings(), item_part(ratings(), paper=True).factors
    cuts = np.linspace(0, table.n_users, 7).astype(int).tolist()
    monkeypatch.setattr("grassvine.problems.completion.user_blocks", lambda _: list(pairwise(cuts)))
    problem = gv.CompletionProblem(table, threads=threads)
    shares: list[float] = []
    assert problem.weights(basis, shares.append).tobytes() == problem.weights(basis).tobytes()
    assert len(shares) == 6 and shares == sorted(shares) and shares[-1] == 1.0
