"""Members who learn from their own tables end with the models of the estimators on all tables."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.peers.houses import FEATURES, cards, learn_together, learning

import grassvine as gv
from grassvine import DecentralizedPCA, MatrixCompleter, MultitaskRegressor
from grassvine.data.tables import ratings_from_frame
from grassvine.peers.fit.components import MemberSamples
from grassvine.peers.fit.methods import sums_after, sums_before
from grassvine.peers.fit.ratings import HELD_OUT
from grassvine.peers.fit.totals import Totals
from grassvine.peers.joining.join import metrics
from grassvine.protocol.agent import State
from grassvine.sums.program import Iterate, Subprogram

HOLDOUT = 0.15

EXACT: tuple[tuple[str, dict[str, Any]], ...] = (
    ("bayes", {}),
    ("map", {}),
    ("map", {"regularization": 3.0}),
    ("exact-subspace", {}),
    ("exact-subspace", {"regularization": 0.05}),
)
GOSSIP: tuple[tuple[str, dict[str, Any]], ...] = (
    ("gossip", {"max_iter": 60}),
    ("gossip", {"max_iter": 40, "rho": 500.0, "regularization": 0.1}),
    ("parallel", {"max_iter": 40}),
)


def split(frame: pl.DataFrame, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Hold out what a member holds out, as two frames."""
    table = ratings_from_frame(frame)
    parts = []
    for part in table.hold_out(HOLDOUT, seed):
        assert part is not None
        ratings = part.ratings
        users, items = part.users.at(ratings.users_of_values()), part.items.at(ratings.items)
        parts.append(pl.DataFrame({"user": users, "item": items, "rating": ratings.values}))
    return parts[0], parts[1]


@pytest.mark.filterwarnings("ignore:the agents do not agree")  # gossip is short here
@pytest.mark.parametrize(("method", "options"), [*EXACT, *GOSSIP])
def test_ratings_equal_the_completer_on_all_tables(
    tmp_path: Path, method: str, options: dict[str, Any]
) -> None:
    what = learning("ratings", method, holdout=HOLDOUT, **options)
    found = learn_together(tmp_path, what, cards())
    train, held = zip(*(split(frame, found.plan.seed) for frame in found.frames), strict=True)
    choice = what.method
    known = {key: value for key, value in choice.options.items() if value is not None}
    pooled = MatrixCompleter(
        2, method=method, network=found.network, random_state=found.plan.seed, **known
    ).fit(list(train))
    wanted = pooled.model_.shared
    models = [data.model(state) for data, state in zip(found.data, found.run.states, strict=True)]
    shared = models[0].shared
    for model, own in zip(models, train, strict=True):
        assert model.shared.factors.tobytes() == shared.factors.tobytes()
        assert model.shared.item_biases.tobytes() == shared.item_biases.tobytes()
        mine = model.predict(own["user"], own["item"]).ratings
        theirs = pooled.model_.predict(own["user"], own["item"]).ratings
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-12 if not choice.gossips else 1e-9)
        assert set(model.private.users.series) == set(own["user"])
    assert (shared.lowest, shared.highest) == (wanted.lowest, wanted.highest)
    assert (shared.counts == wanted.counts).all()
    if method in ("bayes", "map"):  # the same sums of the same parts
        assert shared.factors.tobytes() == wanted.factors.tobytes()
        assert shared.item_biases.tobytes() == wanted.item_biases.tobytes()
        assert shared.centre == wanted.centre
    errors = pooled.errors(pl.concat(held))
    error = metrics(found.run.states[0])["held_out_rmse"]
    assert math.isclose(error, errors["rmse"], rel_tol=1e-12 if not choice.gossips else 1e-9)
    n_held = len(pl.concat(held))
    assert found.run.states[0][HELD_OUT][1] == round(n_held * errors["known"])


@pytest.mark.filterwarnings("ignore:the agents do not agree")
@pytest.mark.parametrize(
    ("method", "options"),
    [("bayes", {}), ("exact", {"alpha": 0.5}), ("gossip", {"alpha": 0.5, "max_iter": 30})],
)
def test_tasks_equal_the_regressor_on_all_samples(
    tmp_path: Path, method: str, options: dict[str, Any]
) -> None:
    found = learn_together(tmp_path, learning("tasks", method, **options), cards())
    whole = pl.concat(found.frames)
    pooled = MultitaskRegressor(
        2,
        method=method,
        agents=4,  # tasks are divided in the order of their ids, as the houses have them
        network=found.network,
        random_state=found.plan.seed,
        **options,
    ).fit(whole.select(FEATURES), whole["y"], tasks=whole["task"])
    models = [data.model(state) for data, state in zip(found.data, found.run.states, strict=True)]
    for model, frame in zip(models, found.frames, strict=True):
        assert model.shared.basis.tobytes() == models[0].shared.basis.tobytes()
        np.testing.assert_allclose(model.shared.means, pooled.model_.shared.means, rtol=1e-13)
        np.testing.assert_allclose(model.shared.scales, pooled.model_.shared.scales, rtol=1e-13)
        mine = model.predict(frame.select(FEATURES).to_numpy(), frame["task"]).targets
        theirs = pooled.predict(frame.select(FEATURES), tasks=frame["task"])
        # The statistics are added in another order; targets are about 10.
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-11 if method != "bayes" else 1e-9)
        assert set(model.private.tasks.series) == set(frame["task"])


def test_the_held_out_error_of_tasks_is_that_of_all_members(tmp_path: Path) -> None:
    found = learn_together(tmp_path, learning("tasks", holdout=HOLDOUT), cards())
    squares, count = 0.0, 0
    for data, state in zip(found.data, found.run.states, strict=True):
        model = data.model(state)
        for task, (x, y) in enumerate(zip(data.held.features, data.held.targets, strict=True)):
            ids = data.ids.at(np.full(len(y), task))
            squares += float(np.sum((model.predict(x, ids).targets - y) ** 2))
            count += len(y)
    assert count == 4 * 3 * round(HOLDOUT * 12)
    error = metrics(found.run.states[0])["held_out_rmse"]
    assert math.isclose(error, math.sqrt(squares / count), rel_tol=1e-12)


@pytest.mark.filterwarnings("ignore:the agents do not agree")
@pytest.mark.parametrize(("method", "options"), [("exact", {}), ("gossip", {"max_iter": 100})])
def test_components_equal_those_of_all_samples(
    tmp_path: Path, method: str, options: dict[str, Any]
) -> None:
    found = learn_together(tmp_path, learning("pca", method, **options), cards())
    pooled = DecentralizedPCA(
        2, method=method, network=found.network, random_state=found.plan.seed, **options
    ).fit([frame.to_pandas() for frame in found.frames])
    models = [data.model(state) for data, state in zip(found.data, found.run.states, strict=True)]
    for model in models:
        assert model.components.tobytes() == models[0].components.tobytes()
        np.testing.assert_allclose(model.mean, pooled.mean_, rtol=1e-13)
        np.testing.assert_allclose(model.components.T, pooled.components_, rtol=0, atol=1e-11)
        np.testing.assert_allclose(model.variances, pooled.explained_variance_, rtol=1e-11)
        assert math.isclose(model.total_variance, pooled.model_.total_variance, rel_tol=1e-12)


@pytest.mark.parametrize("kind", ["ratings", "tasks", "pca"])
def test_a_run_by_sums_skips_what_the_fit_does_not_need(tmp_path: Path, kind: str) -> None:
    """The sums after the fit follow at once, whatever the largest number of sums of the fit."""
    what = learning(kind)
    found = learn_together(tmp_path, what, cards())
    assert found.run.n_slots < found.plan.run_plan.timetable.n_slots / 2
    n_sums = int(found.run.states[0]["updates"][0])
    assert found.run.n_slots == 2 * found.network.tree.height * n_sums
    assert n_sums > sums_before(what) + sums_after(what)


def test_a_scale_takes_the_place_of_the_ranges_of_all_members(tmp_path: Path) -> None:
    what = learning("ratings", "map", regularization=3.0, lowest=0.0, highest=6.0)
    found = learn_together(tmp_path, what, cards("ab", ""))
    model = found.data[0].model(found.run.states[0])
    assert (model.shared.lowest, model.shared.highest) == (0.0, 6.0)
    assert found.run.states[0]["total.ranges"].size == 0


@pytest.mark.parametrize("method", ["exact", "gossip"])
def test_components_do_not_depend_on_the_signs_that_a_lapack_chooses(
    tmp_path: Path, method: str
) -> None:
    """Members whose LAPACKs return other signs add up coordinates along one basis all the same."""

    class OtherLapack(MemberSamples):
        """Has the fitted basis with another sign in one column."""

        def sums_after(
            self, number: int, totals: Totals, fitted: State, iterate: Iterate
        ) -> Subprogram[Totals]:
            signs = np.array([-1.0 if number == 1 else 1.0, 1.0])
            basis = np.asarray(fitted["basis"]) * signs
            return super().sums_after(number, totals, {**fitted, "basis": basis}, iterate)

    options = {"max_iter": 100} if method == "gossip" else {}
    found = learn_together(tmp_path, learning("pca", method, **options), cards())
    others = [OtherLapack(one.learning, one.samples) for one in found.data]
    states = gv.run(found.plan.run_plan, others).states
    wanted = found.data[0].model(found.run.states[0])
    for data, state in zip(others, states, strict=True):
        model = data.model(state)
        np.testing.assert_allclose(model.components, wanted.components, rtol=0, atol=1e-12)
        np.testing.assert_allclose(model.variances, wanted.variances, rtol=1e-12)
