from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.peers.houses import FEATURES, N_ITEMS, cards, learning, rating_frame, write_tables

import grassvine as gv
from grassvine.data.tables import ratings_from_frame
from grassvine.foundations.errors import AgentError, DataError
from grassvine.peers.fit.components import MemberSamples
from grassvine.peers.fit.ratings import HELD_OUT, MemberRatings
from grassvine.peers.fit.tasks import MemberTasks
from grassvine.peers.joining.member_data import Reading, read_catalogue, read_member_data
from grassvine.peers.plan.group_plan import GroupPlan

PLAN = GroupPlan.draft(cards(), learning("ratings", holdout=0.2), seed=4, secrecy="none")


def write(path: Path, rows: Sequence[tuple[object, object, float]]) -> str:
    pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row").write_csv(path)
    return str(path)


def test_items_are_numbered_by_the_catalogue(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [("x", 29, 1.0), ("x", 3, 2.0), ("w", 3, 3.0)])
    plan = GroupPlan.draft(cards(), learning("ratings"), secrecy="none")
    data = read_member_data(plan, path).data
    assert isinstance(data, MemberRatings)
    assert data.n_items == N_ITEMS
    assert data.ratings.items.tolist() == [3, 3, 29]  # w, then x
    assert data.users.series.to_list() == ["w", "x"]


def test_the_hold_out_is_that_of_the_seed(tmp_path: Path) -> None:
    frame = rating_frame(0, 20)
    frame.write_csv(tmp_path / "a.csv")
    found = read_member_data(PLAN, str(tmp_path / "a.csv"))
    train, held = ratings_from_frame(frame).hold_out(0.2, PLAN.seed)
    assert isinstance(found.data, MemberRatings) and held is not None
    np.testing.assert_array_equal(found.data.ratings.values, train.ratings.values)
    np.testing.assert_array_equal(found.data.held.values, held.ratings.values)
    assert found.counts == {"users": 20, "items": N_ITEMS, "ratings": 240}
    assert found.data_hash == ratings_from_frame(frame).digest()


def test_unknown_items_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    rows = [("u", item, 1.0) for item in (1, 40, 41, 42, 43, 44, 45)]
    with pytest.raises(DataError, match="6 of 7 items are not in the plan's catalogue") as caught:
        read_member_data(PLAN, write(tmp_path / "a.csv", rows))
    assert "(40, 41, 42, 43, 44, …)" in str(caught.value)


def test_ids_of_another_type_are_refused_or_become_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [("u", "seven", 1.0)])
    with pytest.raises(DataError, match="convert them to the same type"):
        read_member_data(PLAN, path)
    from dataclasses import replace

    texts = replace(PLAN.learning, catalogue=("007", "7", "8"), rank=1, holdout=0.0)
    plan = GroupPlan.draft(cards(), texts, secrecy="none")
    data = read_member_data(plan, write(tmp_path / "b.csv", [("u", 7, 1.0), ("u", 8, 2.0)])).data
    assert isinstance(data, MemberRatings)
    assert data.ratings.items.tolist() == [1, 2]


def test_ratings_outside_the_scale_are_refused(tmp_path: Path) -> None:
    plan = GroupPlan.draft(cards(), learning("ratings", lowest=1.0, highest=5.0), secrecy="none")
    with pytest.raises(DataError, match="outside the scale from 1 to 5"):
        read_member_data(plan, write(tmp_path / "a.csv", [("u", 1, 6.0), ("u", 2, 3.0)]))


def test_reading_takes_the_options_of_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("my table\nwho|what|how much\nu|1|2.0\nu|1|4.0\nv|2|1.0\n")
    plan = GroupPlan.draft(cards(), learning("ratings"), secrecy="none")
    how = Reading(
        separator="|", skip_rows=1, user="who", item="what", rating="how much", duplicates="mean"
    )
    found = read_member_data(plan, str(path), how)
    assert isinstance(found.data, MemberRatings)
    assert found.data.ratings.values.tolist() == [3.0, 1.0]
    assert any("repeat" in note for note in found.assumed)


def test_tasks_have_the_columns_of_the_plan(tmp_path: Path) -> None:
    plan = GroupPlan.draft(cards(), learning("tasks", holdout=0.25), secrecy="none")
    frames, paths = write_tables(tmp_path, "tasks", 1)
    data = read_member_data(plan, str(paths[0])).data
    assert isinstance(data, MemberTasks)
    assert data.tasks.n_values == 27 and data.held.n_values == 9
    shuffled = tmp_path / "shuffled.parquet"
    frames[0].select(sorted(frames[0].columns, reverse=True)).write_parquet(shuffled)
    again = read_member_data(plan, str(shuffled)).data
    assert isinstance(again, MemberTasks)
    np.testing.assert_array_equal(again.tasks.features[0], data.tasks.features[0])
    frames[0].drop("f3").write_csv(tmp_path / "less.csv")
    with pytest.raises(DataError, match="no column 'f3' for the features"):
        read_member_data(plan, str(tmp_path / "less.csv"))


def test_samples_have_the_columns_of_the_plan(tmp_path: Path) -> None:
    plan = GroupPlan.draft(cards(), learning("pca"), secrecy="none")
    frames, paths = write_tables(tmp_path, "pca", 1)
    found = read_member_data(plan, str(paths[0]))
    np.testing.assert_array_equal(found.data.samples, frames[0].select(FEATURES).to_numpy())  # type: ignore[union-attr]
    assert found.counts == {"samples": 20}


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("item\nb\na\nb\n", ("a", "b")),
        ("item\n001\n7\n", ("001", "7")),
        ("9\n10\n7\n", (7, 9, 10)),
        ("title,item\nx,2\ny,1\n", (1, 2)),
        ("user,item,rating\nu,é,1\nu,z,2\n", ("z", "é")),
    ],
)
def test_a_catalogue_is_a_column_of_items(
    tmp_path: Path, text: str, items: tuple[object, ...]
) -> None:
    path = tmp_path / "items.csv"
    path.write_text(text)
    assert read_catalogue(str(path))[0] == items


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x\ny\nz\n", "not clear whether 'x'"),
        ("item\n1.5\n2.5\n", "convert them to text"),
        ("item\n\n", "items|no|empty"),
    ],
)
def test_a_doubtful_catalogue_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "items.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=reason):
        read_catalogue(str(path))


def test_a_table_too_small_to_hold_anything_out_takes_part_all_the_same(tmp_path: Path) -> None:
    """The others sum the held-out error, so this member has to as well."""
    plan = GroupPlan.draft(
        cards("ab", ""),
        learning("ratings", "map", regularization=3.0, holdout=0.1),
        secrecy="none",
    )
    small = read_member_data(plan, write(tmp_path / "a.csv", [("u", 1, 1.0), ("u", 2, 3.0)])).data
    rating_frame(1, 20).write_csv(tmp_path / "b.csv")
    large = read_member_data(plan, str(tmp_path / "b.csv")).data
    assert isinstance(small, MemberRatings) and isinstance(large, MemberRatings)
    assert small.held.n_values == 0 < large.held.n_values
    states = gv.run(plan.run_plan, [small, large]).states
    assert 0 < states[0][HELD_OUT][1] <= large.held.n_values
    greedy = GroupPlan.draft(cards("ab", ""), learning("ratings", holdout=0.9), secrecy="none")
    with pytest.raises(DataError, match="leaves nothing to learn from"):
        read_member_data(greedy, write(tmp_path / "c.csv", [("u", 1, 1.0)]))


def test_too_few_samples_for_the_components_end_the_run_with_a_sentence() -> None:
    plan = GroupPlan.draft(cards("ab", ""), learning("pca", rank=5), secrecy="none")
    data = [MemberSamples(plan.learning, np.ones((2, len(FEATURES)))) for _ in range(2)]
    with pytest.raises(AgentError, match="all members together have 4 samples, too few for 5"):
        gv.run(plan.run_plan, data)
