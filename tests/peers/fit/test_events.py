"""Members who learn what users choose end with the model of the estimator on all tables."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.peers.houses import N_ITEMS, cards, learn_together, learning, write_tables

from grassvine import ImplicitRecommender
from grassvine.foundations.errors import DataError, PlanError
from grassvine.metrics import found as hits_of
from grassvine.metrics import ndcg
from grassvine.models import FactorScorer, RankingModel
from grassvine.peers.fit.events import MemberEvents
from grassvine.peers.joining.join import metrics
from grassvine.peers.joining.member_data import Reading, read_member_data
from grassvine.peers.plan.explain import explain
from grassvine.peers.plan.group_plan import GroupPlan, read_plan


@pytest.mark.parametrize("secrecy", ["none", "masked"])
def test_events_equal_the_recommender_on_all_tables(tmp_path: Path, secrecy: str) -> None:
    what = learning("events", rank=4)
    found = learn_together(tmp_path, what, cards(), secrecy=secrecy)
    pooled = ImplicitRecommender(4, network=found.network, random_state=found.plan.seed).fit(
        found.frames
    )
    wanted = pooled.model_.shared.scorer
    assert isinstance(wanted, FactorScorer)
    for data, state, frame in zip(found.data, found.run.states, found.frames, strict=True):
        model = data.model(state)
        assert isinstance(model, RankingModel)
        # Masked sums are of integers; they differ from sums of floats by rounding only.
        assert isinstance(model.shared.scorer, FactorScorer)
        rows = model.shared.scorer.model.rows
        np.testing.assert_allclose(rows, wanted.model.rows, rtol=0, atol=1e-9)
        if secrecy == "none":
            assert rows.tobytes() == wanted.model.rows.tobytes()
        own = frame["user"].unique().sort().to_list()
        assert model.private is not None and model.private.users.series.to_list() == own
        mine, theirs = model.recommend(k=3), pooled.model_.recommend(own, 3)
        assert mine["item"].to_list() == theirs["item"].to_list()


def test_held_out_events_are_ranked_by_all_members(tmp_path: Path) -> None:
    found = learn_together(tmp_path, learning("events", rank=4, holdout=0.2), cards())
    values = [metrics(state)["held_out_ndcg_100"] for state in found.run.states]
    assert len(set(values)) == 1 and 0.4 < values[0] < 1.0
    gains = n_users = 0.0
    for data, state in zip(found.data, found.run.states, strict=True):
        model = data.model(state)
        rows = np.flatnonzero(np.diff(data.held.starts) > 0)
        lists, _ = model.best_by_number(rows, 100)
        relevant = data.held.choose_users(rows)
        per_user = ndcg(hits_of(lists, relevant), np.diff(relevant.starts), 100)
        gains, n_users = gains + float(per_user.sum()), n_users + len(rows)
    assert values[0] == pytest.approx(gains / n_users, rel=1e-12)


def test_items_that_few_chose_take_no_part(tmp_path: Path) -> None:
    what = learning("events", rank=4, min_support=30)
    found = learn_together(tmp_path, what, cards())
    counts = pl.concat(found.frames).group_by("item").agg(pl.col("user").n_unique())
    many = set(counts.filter(pl.col("user") >= 30)["item"])
    assert 0 < len(many) < N_ITEMS
    for data, state in zip(found.data, found.run.states, strict=True):
        shared = data.model(state).shared
        assert set(np.flatnonzero(shared.counts)) == many
        few = [item for item in range(N_ITEMS) if item not in many]
        assert not shared.scorer.model.rows[few].any()


def test_a_plan_of_events_is_written_read_and_explained(tmp_path: Path) -> None:
    plan = GroupPlan.draft(cards(), learning("events", rank=4), seed=1, secrecy="masked")
    plan.save(tmp_path / "plan.toml")
    assert read_plan(tmp_path / "plan.toml").digest == plan.digest
    said = explain(plan)
    assert any("popularity" in sentence for sentence in said.sentences)
    kinds = {row.message for rows in said.sent.values() for row in rows}
    assert {"counts", "statistics", "cost and gradient", "comparison"} <= kinds


def test_gossip_and_wrong_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="unknown method 'gossip'"):
        learning("events", "gossip")
    plan = GroupPlan.draft(cards(), learning("events", rank=4), seed=1, secrecy="none")
    path = tmp_path / "bad.csv"
    path.write_text("user,item,plays\nann,3,0\nbob,4,1\n")
    with pytest.raises(DataError, match="1 of 2 counts is 0"):
        read_member_data(plan, str(path))
    path.write_text("user,item,plays,rating\nann,3,2,5\nbob,99,1,4\n")
    with pytest.raises(DataError, match=r"not in the plan's catalogue .*leave their events out"):
        read_member_data(plan, str(path))
    _, paths = write_tables(tmp_path, "events", 1)
    own = read_member_data(plan, str(paths[0]), Reading(count="count"))
    assert isinstance(own.data, MemberEvents)
    assert own.counts["events"] == own.data.events.n_values
