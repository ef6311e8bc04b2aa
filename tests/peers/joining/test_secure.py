"""Runs with masks: the models of runs without, and the rules that close the known holes."""

import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.peers.houses import (
    FEATURES,
    cards,
    identity,
    learn_together,
    learning,
    sample_frame,
    task_frame,
    write_tables,
)
from tests.peers.joining.test_join import Meeting

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import AgentError, PlanError
from grassvine.models import RatingsModel, SubspaceModel, TasksModel
from grassvine.peers.fit.learning import Learning
from grassvine.peers.fit.support import fourth_powers, has_support
from grassvine.peers.fit.totals import learn_by_sums
from grassvine.peers.identity.cards import Card
from grassvine.peers.identity.identity import OwnIdentity, create_identity, load_identity
from grassvine.peers.joining.join import Prepared, create_agent, metrics, prepare, run
from grassvine.peers.joining.member_data import read_member_data
from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.peers.plan.secrecy import MIN_SUPPORT
from grassvine.protocol import Agent
from grassvine.protocol.agent import State
from grassvine.protocol.observers import AllFinished
from grassvine.sums.own import Data
from grassvine.sums.program import Compute, Part, Program, ProgramOutcome, kind_of

SCALE: dict[str, Any] = {"lowest": 0.5, "highest": 5.0}
KINDS: dict[str, Learning] = {
    "ratings": learning("ratings", holdout=0.1, **SCALE),
    "ratings, map": learning("ratings", "map", holdout=0.1, **SCALE),
    "ratings, given": learning("ratings", "map", regularization=3.0, **SCALE),
    "subspace": learning("ratings", "exact-subspace", holdout=0.1, **SCALE),
    "subspace, given": learning("ratings", "exact-subspace", regularization=0.05, **SCALE),
    "tasks": learning("tasks", holdout=0.2),
    "tasks, exact": learning("tasks", "exact", holdout=0.2),
    "components": learning("pca"),
}


def own(card: Card) -> OwnIdentity:
    return identity(card.name) if card.listens else identity(card.name, listens=False)


def run_masked(plan: GroupPlan, data: Sequence[Any]) -> list[State]:
    """Run all members with their masks, and return their final states."""
    makers: list[Callable[[], Agent]] = [
        partial(create_agent, plan, own(card), one)
        for card, one in zip(plan.members, data, strict=True)
    ]
    observe = AllFinished(len(makers))
    return list(gv.LocalEngine().run(makers, plan.run_plan.timetable, observe).states)


@pytest.mark.parametrize("name", KINDS)
def test_masks_change_no_bit_and_integers_hardly_any(tmp_path: Path, name: str) -> None:
    what = KINDS[name]
    fixed = learn_together(tmp_path, what, cards("abc", "d"), secrecy="masked")
    assert (fixed.plan.sums, fixed.plan.secrecy) == ("fixed", "masked")
    masked = run_masked(fixed.plan, fixed.data)
    for one, other in zip(masked, fixed.run.states, strict=True):
        assert {k: v.tobytes() for k, v in one.items()} == {
            k: v.tobytes() for k, v in other.items()
        }
    floats = GroupPlan.draft(
        fixed.plan.members, what, seed=5, secrecy="none", min_support=MIN_SUPPORT
    )
    data = [
        read_member_data(floats, str(tmp_path / f"{what.kind}-{k}.parquet")).data for k in range(4)
    ]
    plain = gv.run(floats.run_plan, data)
    for k, (one, other) in enumerate(zip(masked, plain.states, strict=True)):
        assert one["updates"] == other["updates"]
        bases = [np.asarray(state["basis"], dtype=np.float64) for state in (one, other)]
        assert gv.geometry.Grassmann().distance(*bases) < 1e-9
        assert metrics(one) == pytest.approx(metrics(other), abs=1e-9)
        _assert_equal_models(data[k].model(one), data[k].model(other), k)


def _assert_equal_models(one: Any, other: Any, house: int) -> None:
    match one:
        case RatingsModel():
            items = one.shared.items.series
            users = pl.Series([f"h{house}u03"] * len(items))
            found, wanted = (
                each.predict(users, items, on_unknown="nan").ratings for each in (one, other)
            )
            assert np.isfinite(found).sum() > 20
        case TasksModel():
            x = task_frame(0).select(FEATURES).to_numpy()[:12]
            found, wanted = (each.predict(x, [f"h{house}t0"] * 12).targets for each in (one, other))
        case SubspaceModel():
            x = sample_frame(0).to_numpy()
            found, wanted = (each.transform(x) for each in (one, other))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8)


# Two members, gossip, and what is no sum.


def test_two_members_are_refused_with_the_reason_unless_they_want_no_secrecy() -> None:
    what = KINDS["ratings"]
    with pytest.raises(PlanError, match=r"each subtracts its own part .* secrecy='none'"):
        GroupPlan.draft(cards("ab", ""), what)
    plan = GroupPlan.draft(cards("ab", ""), what, secrecy="none")
    assert (plan.sums, plan.secrecy, plan.learning.min_support) == ("plain", "none", 1)


def test_three_members_mask_by_default_and_gossip_cannot() -> None:
    plan = GroupPlan.draft(cards("abc", ""), KINDS["tasks"])
    assert (plan.sums, plan.secrecy, plan.learning.min_support) == ("fixed", "masked", 5)
    assert GroupPlan.from_toml(plan.to_toml()) == plan
    gossip = learning("ratings", "gossip")
    assert GroupPlan.draft(cards("abc", ""), gossip).secrecy == "none"
    with pytest.raises(PlanError, match="shows every neighbour a member's own basis"):
        GroupPlan.draft(cards("abc", ""), gossip, secrecy="masked")
    with pytest.raises(PlanError, match="masks need fixed-point sums"):
        replace(plan, sums="plain")


def test_the_ranges_of_members_are_no_sum_so_the_plan_has_the_scale() -> None:
    with pytest.raises(PlanError, match=r"the range of its ratings.* give lowest and highest"):
        GroupPlan.draft(cards("abc", ""), learning("ratings"))


def test_a_plan_has_the_support_that_all_agree_on() -> None:
    plans = [GroupPlan.draft(cards("abc", ""), KINDS["tasks"], min_support=k) for k in (1, 5, 7)]
    assert len({plan.digest for plan in plans}) == 3
    with pytest.raises(PlanError, match="min_support"):
        GroupPlan.draft(cards("abc", ""), KINDS["tasks"], min_support=0)


# Support.


def test_items_with_few_raters_take_no_part(tmp_path: Path) -> None:
    what = replace(KINDS["ratings, given"], catalogue=tuple(range(32)))
    plan = GroupPlan.draft(cards("abc", ""), what, seed=5)
    frames, _ = write_tables(tmp_path, "ratings", 3)
    rare = {30: 1, 31: 4}  # item: how many raters
    users = frames[0]["user"].unique(maintain_order=True)
    rows = [(users[k], item, 4.5) for item, count in rare.items() for k in range(count)]
    extra = pl.DataFrame(rows, schema=frames[0].schema, orient="row")
    models: list[Any] = []
    for tables in ([pl.concat([frames[0], extra]), *frames[1:]], frames):
        data = []
        for k, table in enumerate(tables):
            path = tmp_path / f"own-{k}.parquet"
            table.write_parquet(path)
            data.append(read_member_data(plan, str(path)).data)
        models.append(data[0].model(run_masked(plan, data)[0]))
    with_rare, without = models
    assert list(with_rare.shared.counts[30:]) == [0, 0]
    assert not with_rare.shared.factors[30:].any() and not with_rare.shared.item_biases[30:].any()
    np.testing.assert_allclose(
        with_rare.shared.factors[:30], without.shared.factors[:30], rtol=0, atol=0.05
    )  # the mean of all ratings differs a little
    assert with_rare.private.seen.n_values == without.private.seen.n_values + 5


def test_features_that_few_samples_determine_take_no_part(tmp_path: Path) -> None:
    """A column that is 1 in a single sample; XᵀX would have that sample in its row."""
    for kind, make in (("tasks", task_frame), ("pca", sample_frame)):
        what = replace(learning(kind), catalogue=(*FEATURES, "rare"))
        plan = GroupPlan.draft(cards("abc", ""), what, seed=5)
        for count, used in ((1, False), (4, False), (5, True), (20, True)):
            data = []
            for k in range(3):
                frame = make(k)
                values = np.zeros(len(frame))
                values[: count if k == 0 else 0] = 1.0
                path = tmp_path / f"{kind}-{k}.parquet"
                frame.with_columns(pl.Series("rare", values)).write_parquet(path)
                data.append(read_member_data(plan, str(path)).data)
            model: Any = data[0].model(run_masked(plan, data)[0])
            samples = np.zeros((2, 9))
            samples[1, 8] = 1.0
            if kind == "tasks":
                a, b = model.predict(samples, ["h0t0", "h0t0"]).targets
            else:
                a, b = model.transform(samples)[:, 0]
            assert (abs(a - b) > 1e-6) == used


@pytest.mark.parametrize("count", [1, 3, 4, 5, 9])
def test_support_counts_the_samples_that_differ(count: int) -> None:
    """For both values of a column of two, and for a single outlier among normal numbers."""
    column = np.zeros((10_000, 1))
    column[:count] = 1.0
    for values in (column, 1.0 - column, 1e6 * column - 3.0):
        assert supported(values, 5) == (count >= 5)
        assert supported(values, 1)
    normal = np.random.default_rng(0).standard_normal((50, 1))
    assert supported(normal, 5)
    normal[0] = 1e4
    assert not supported(normal, 5)
    assert supported(np.full((9, 1), 3.0), 5)  # a constant, which does no harm


def supported(values: Array, min_support: int) -> bool:
    differences, count = values - values.mean(), float(len(values))
    fourths = fourth_powers(differences, np.sum(differences**2, axis=0), count)
    return bool(has_support(fourths, count, min_support)[0])


def test_too_few_users_tasks_or_samples_are_refused(tmp_path: Path) -> None:
    for name, unit in (("tasks", "tasks"), ("components", "samples"), ("ratings, given", "users")):
        found = learn_together(tmp_path, KINDS[name], cards("abc", ""), secrecy="masked")
        plan = GroupPlan.draft(cards("abc", ""), KINDS[name], min_support=500)
        data = [replace(one, learning=plan.learning) for one in found.data]
        with pytest.raises(AgentError, match=rf"have \d+ {unit}, fewer than min_support = 500"):
            run_masked(plan, data)


# A plan begins once, and others' runs.


def prepared(root: Path, letters: str, seed: int) -> list[Prepared]:
    """Prepare members with private folders of this test."""
    members = []
    for letter in letters:
        folder = root / letter
        address = f"clinic-{letter}.example:443"
        if not folder.exists():
            create_identity(f"clinic-{letter}", address, folder)
        members.append(folder)
    identities = [joinable(folder) for folder in members]
    plan = GroupPlan.draft([one.card for one in identities], learning("pca"), seed=seed)
    _, paths = write_tables(root, "pca", len(letters))
    return [
        prepare(plan, str(path), folder=one.folder)
        for one, path in zip(identities, paths, strict=True)
    ]


def joinable(folder: Path) -> OwnIdentity:
    return load_identity(folder)


def meet(members: list[Prepared]) -> list[State]:
    meeting = Meeting(len(members))
    with ThreadPoolExecutor(len(members)) as pool:
        return list(pool.map(lambda one: run(one, meeting), members))


def test_a_plan_that_has_lost_its_journal_is_not_begun_again(tmp_path: Path) -> None:
    members = prepared(tmp_path, "abc", 1)
    meet(members)
    meet(members)  # goes on with the journal
    shutil.rmtree(members[1].journal)
    with pytest.raises(PlanError, match=r"begun before, and its journal is gone"):
        run(members[1], lambda *arguments, **options: {})
    assert prepared(tmp_path, "abc", 2)[1].warnings == []
    meet(prepared(tmp_path, "abc", 2))


def test_a_run_with_other_members_warns_and_starts_elsewhere(tmp_path: Path) -> None:
    meet(prepared(tmp_path, "abcd", 1))
    again = prepared(tmp_path, "abc", 1)
    with pytest.raises(PlanError, match=r"clinic-d\) has started at the same point"):
        _ = again[0].warnings
    with pytest.raises(PlanError, match="has started at the same point"):
        run(again[0], lambda *arguments, **options: {})
    (warning,) = prepared(tmp_path, "abc", 2)[0].warnings
    assert "learns those of clinic-d alone" in warning
    assert prepared(tmp_path, "abcd", 2)[0].warnings == []


# Members who do not follow the plan.


def lying(
    program: Program, change: Callable[[Sequence[Array | float]], Sequence[Array | float]]
) -> Program:
    """Run a program whose parts are changed."""
    request = next(program)
    while True:
        if isinstance(request, Part):
            request = replace(request, compute=_changed(request.compute, change))
        answer = yield request
        try:
            request = program.send(answer)
        except StopIteration as end:
            ending: ProgramOutcome = end.value
            return ending


def _changed(
    compute: Compute, change: Callable[[Sequence[Array | float]], Sequence[Array | float]]
) -> Compute:
    def changed(data: Data) -> Sequence[Array | float]:
        return change(compute(data))

    changed.__qualname__ = kind_of(compute)  # a scale of its own
    return changed


Arrays = Sequence[Array | float]


def negative_counts(arrays: Arrays) -> Arrays:
    return [-3.0 * np.asarray(one) - 1.0 for one in arrays]


def fractions(arrays: Arrays) -> Arrays:
    return [np.asarray(one) * 1.1 for one in arrays]


def ascent(arrays: Arrays) -> Arrays:
    """The cost as it is, and the gradient turned round."""
    if len(arrays) == 4 and np.ndim(arrays[1]) == 2:
        return [arrays[0], -9.0 * np.asarray(arrays[1]), -9.0 * np.asarray(arrays[2]), arrays[3]]
    if len(arrays) == 3 and np.ndim(arrays[0]) == 2:
        return [-9.0 * np.asarray(arrays[0]), *arrays[1:]]
    return arrays


@pytest.mark.parametrize(
    ("name", "lie", "sentence"),
    [
        ("ratings, given", negative_counts, "numbers of users and of ratings do not fit"),
        ("ratings, given", fractions, "numbers of users and of ratings do not fit"),
        ("ratings, given", ascent, "no step reduces the cost, although its gradient says so"),
        ("subspace, given", ascent, "no step reduces the cost, although its gradient says so"),
        ("tasks", negative_counts, "numbers of tasks and of samples do not fit"),
        ("tasks, exact", ascent, "no step reduces the cost, although its gradient says so"),
        ("components", fractions, "the number of samples is not one"),
    ],
)
def test_a_run_that_a_liar_steers_stops_with_a_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    lie: Callable[[Arrays], Arrays],
    sentence: str,
) -> None:
    found = learn_together(tmp_path, KINDS[name], cards("abc", "d"), secrecy="masked")

    def learned(data: Any, number: int, *arguments: Any) -> Program:
        program = learn_by_sums(data, number, *arguments)
        return lying(program, lie) if number == 2 else program

    monkeypatch.setattr("grassvine.peers.fit.methods.learn_by_sums", learned)
    with pytest.raises(AgentError, match=sentence):
        run_masked(found.plan, found.data)
