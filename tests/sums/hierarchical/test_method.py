"""Empirical Bayes by sums: many agents learn what one owner of all tasks learns."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from tests.real_data import parkinsons, school
from tests.samples import PROBLEMS
from tests.sums.hierarchical.task_sets import N_FEATURES, alike, truth

import grassvine as gv
from grassvine.data.split import hold_out_samples
from grassvine.engines.in_process import ThreadsEngine
from grassvine.foundations.errors import PlanError
from grassvine.foundations.seeds import stream
from grassvine.paper.scores import nmse_of_weights
from grassvine.sums import CoefficientPrior, EmpiricalBayes, HierarchicalProblem
from grassvine.sums.hierarchical import full
from grassvine.sums.hierarchical.designs import Designs
from grassvine.sums.hierarchical.fit import HierarchicalIterate
from grassvine.sums.program import run_pooled


def fitted(tasks: gv.Tasks, intercepts: bool = True, **options: Any) -> HierarchicalIterate:
    problem = HierarchicalProblem(tasks, intercepts)
    start = np.eye(tasks.n_items)[:, :1]
    program = EmpiricalBayes(**options).program(problem, start, 0)
    iterate = run_pooled(program, problem).iterate
    assert isinstance(iterate, HierarchicalIterate)
    return iterate


def covariance(prior: CoefficientPrior) -> Any:
    return prior.factor @ prior.factor.T


@pytest.mark.parametrize(
    ("n_agents", "network"), [(1, "ring"), (3, "path"), (10, "ring"), (10, "star"), (100, "star")]
)
def test_agents_learn_what_one_owner_learns(n_agents: int, network: str) -> None:
    tasks = alike(100)
    pooled = fitted(tasks).prior
    made = getattr(gv.networks, network)(n_agents) if n_agents > 1 else gv.networks.path(1)
    plan = gv.Plan(N_FEATURES, 2, made, EmpiricalBayes())
    problems = [HierarchicalProblem(part) for part in gv.datasets.split_tasks(tasks, n_agents)]
    result = gv.run(plan, problems)
    for state in (result.states[0], result.states[-1]):
        mine = CoefficientPrior.from_arrays(state)
        np.testing.assert_allclose(mine.mean, pooled.mean, rtol=1e-9)
        np.testing.assert_allclose(covariance(mine), covariance(pooled), rtol=1e-9, atol=1e-9)
        assert mine.noise == pytest.approx(pooled.noise, rel=1e-9)
    assert result.neighbour_distance < 1e-9
    assert "raised the bound by less than 0.1" in result.stop_reason
    if n_agents == 10:
        threads = gv.run(plan, problems, engine=ThreadsEngine())
        for one, other in zip(result.states, threads.states, strict=True):
            assert all(one[name].tobytes() == other[name].tobytes() for name in one)


def test_every_step_raises_the_bound() -> None:
    """That of the posterior of the mean lags one step, which costs nothing noticeable."""
    tasks = alike(20)
    designs = Designs.of(tasks, intercepts=True)
    parameters, bounds = full.first_parameters(N_FEATURES + 1), []
    scaled = designs.scaled(np.ones(N_FEATURES + 1), 0.0, 3.0)
    for _ in range(40):
        sums, _ = full.own_sums(scaled, parameters)
        step = full.next_step(parameters, [np.asarray(one) for one in sums], 20.0, tasks.n_values)
        bounds.append(step.bound)
        parameters = step.parameters
    assert np.diff(bounds).min() > -1e-3 and bounds[-1] > bounds[0] + 10.0


def test_the_distribution_is_found_where_tasks_are_many() -> None:
    mean, wanted = truth()
    found = fitted(alike(1500, size=20)).prior
    # Standard errors of 1500 tasks are about 3 % of the standard deviations.
    scale = np.sqrt(np.diag(wanted))
    assert np.abs((found.mean - mean) / scale).max() < 0.15
    assert np.abs((covariance(found) - wanted) / np.outer(scale, scale)).max() < 0.15
    assert found.noise == pytest.approx(0.25, rel=0.05)


def test_equal_tasks_are_treated_as_one_and_unlike_ones_separately() -> None:
    rng = stream(0, "data", "asked")
    asked = rng.standard_normal((50, N_FEATURES))
    mean, _ = truth()
    same = alike(30, noise=1.0, spread=0.0)
    errors = fitted(same).prior.solve(Designs.of(same, intercepts=True)) - mean
    alone = np.array(
        [
            np.linalg.lstsq(np.column_stack([x, np.ones(len(y))]), y)[0] - mean
            for x, y in zip(same.features, same.targets, strict=True)
        ]
    )
    assert np.mean(errors**2) < 0.05 * np.mean(alone**2)
    apart = alike(30, size=30, noise=0.1, spread=100.0)
    found = fitted(apart).prior.solve(Designs.of(apart, intercepts=True))
    for x, y, w in zip(apart.features, apart.targets, found, strict=True):
        own = np.linalg.lstsq(np.column_stack([x, np.ones(len(y))]), y)[0]
        difference = np.column_stack([asked, np.ones(50)]) @ (w - own)
        assert np.sqrt(np.mean(difference**2)) < 0.05


def hostile() -> dict[str, gv.Tasks]:
    rng = stream(0, "data", "hostile tasks")

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape)

    plain = alike(8)
    one, wide = normal(30, 4), normal(6, 40)
    collinear = [np.column_stack([x, x[:, 0], x[:, 0] + x[:, 1]]) for x in plain.features]
    idle = [np.column_stack([x, np.ones(len(x)), np.zeros(len(x))]) for x in plain.features]
    return {
        "one task": gv.Tasks((one,), (one @ normal(4) + normal(30),)),
        "one sample": gv.Tasks((one[:1],), (normal(1),)),
        "one sample a task": gv.Tasks(tuple(normal(9, 1, 3)), tuple(normal(9, 1))),
        "fewer samples than features": gv.Tasks((wide, wide + 1.0), (normal(6), normal(6))),
        "one feature": gv.Tasks.from_arrays([x[:, :1] for x in plain.features], plain.targets),
        "collinear": gv.Tasks.from_arrays(collinear, plain.targets),
        "constant features": gv.Tasks.from_arrays(idle, plain.targets),
        "constant targets": gv.Tasks(plain.features, tuple(y * 0 + 3.25 for y in plain.targets)),
        "zero targets": gv.Tasks(plain.features, tuple(y * 0.0 for y in plain.targets)),
        "noise-free": alike(10, size=12, noise=0.0),
        "pure noise": gv.Tasks(plain.features, tuple(normal(len(y)) for y in plain.targets)),
        "huge": gv.Tasks(
            tuple(1e30 * x for x in plain.features), tuple(1e20 * y for y in plain.targets)
        ),
        "tiny": gv.Tasks(
            tuple(1e-30 * x for x in plain.features), tuple(1e-20 * y for y in plain.targets)
        ),
        "shifted": gv.Tasks(plain.features, tuple(y + 1e9 for y in plain.targets)),
        "an outlier": gv.Tasks(plain.features, (plain.targets[0] + 1e6, *plain.targets[1:])),
    }


@pytest.mark.parametrize("intercepts", [True, False])
@pytest.mark.parametrize("name", hostile())
def test_hostile_tasks_are_fitted(name: str, intercepts: bool) -> None:
    tasks = hostile()[name]
    found = fitted(tasks, intercepts)
    designs = Designs.of(tasks, intercepts=intercepts)
    squares = sum(float(y @ y) for y in tasks.targets)
    error = found.fit_to(HierarchicalProblem(tasks, intercepts))[1]
    assert np.isfinite(found.prior.solve(designs)).all() and found.prior.noise > 0.0
    assert error <= squares * (1.0 + 1e-9)  # no worse than zero for everything
    if name in ("constant targets", "noise-free", "zero targets") and intercepts:
        assert error <= 1e-9 * max(squares, 1e-300) or error < 1e-15


@pytest.mark.parametrize("n_features", [N_FEATURES, 250])
def test_an_agent_without_samples_changes_nothing(n_features: int) -> None:
    rng = stream(0, "data", "wide tasks")
    x = rng.standard_normal((3, 12, n_features))
    tasks = gv.Tasks(tuple(x), tuple(x[:, :, 0] + rng.standard_normal((3, 12))))
    empty = gv.Tasks((np.zeros((0, n_features)),), (np.zeros(0),))
    plan = gv.Plan(n_features, 1, gv.networks.path(2), EmpiricalBayes())
    result = gv.run(plan, [HierarchicalProblem(tasks), HierarchicalProblem(empty)])
    prior = CoefficientPrior.from_arrays(result.states[1])
    np.testing.assert_allclose(prior.mean, fitted(tasks).prior.mean, atol=1e-12)


def wide(n_tasks: int = 20, size: int = 60, n_features: int = 205) -> gv.Tasks:
    """Few directions of many features matter, and to each task differently."""
    rng = stream(0, "data", "tasks of many features")
    scales = np.arange(1.0, n_features + 1.0) ** -0.5
    common, ways = rng.standard_normal(n_features), rng.standard_normal((2, n_features))
    x = rng.standard_normal((n_tasks, size, n_features)) * scales
    weights = common + rng.standard_normal((n_tasks, 2)) @ ways
    y = np.einsum("tsf,tf->ts", x, weights) + 10.0 + rng.standard_normal((n_tasks, size))
    return gv.Tasks(tuple(x), tuple(y))


@pytest.mark.slow
def test_many_features_are_reduced_to_few_directions() -> None:
    train, test = hold_out_samples(wide(), 0.4, seed=0)
    made = fitted(train)
    prior, designs = made.prior, Designs.of(train, intercepts=True)
    assert prior.factor.shape == (206, 101)
    asked = [np.column_stack([x, np.ones(len(x))]) for x in test.features]
    numbers = np.repeat(np.arange(train.n_tasks), [len(x) for x in asked])
    rows, wanted = np.concatenate(asked), np.concatenate(test.targets)
    errors = np.sum(rows * prior.solve(designs)[numbers], axis=1) - wanted
    scales = np.concatenate(train.features).std(axis=0)
    pooled = RidgeCV(np.logspace(-2, 4, 13)).fit(
        np.concatenate(train.features) / scales, np.concatenate(train.targets)
    )
    alike = pooled.predict(np.concatenate(test.features) / scales) - wanted
    assert np.mean(errors**2) < 0.9 * np.mean(alike**2)
    deviations = np.sqrt(prior.variances(designs, numbers, rows))
    # The directions are chosen by the targets, which the trial makes up for.
    assert 0.8 < np.mean(np.abs(errors) < 1.645 * deviations) < 0.97
    plan = gv.Plan(205, 1, gv.networks.ring(5), EmpiricalBayes())
    problems = [HierarchicalProblem(part) for part in gv.datasets.split_tasks(train, 5)]
    result = gv.run(plan, problems)
    found = CoefficientPrior.from_arrays(result.states[3])
    solved = found.solve(designs)
    np.testing.assert_allclose(solved, prior.solve(designs), atol=1e-7 * np.abs(solved).max())
    # About q(q+1) numbers each, whatever the number of features, and blocks of ten columns.
    assert result.bytes / result.messages < 8 * (101 * 102 + 500)


def test_units_do_not_matter() -> None:
    tasks = alike()
    units = np.logspace(-3, 3, N_FEATURES)
    other = gv.Tasks.from_arrays(
        [x * units for x in tasks.features], [1e4 * y - 7e4 for y in tasks.targets]
    )
    plain, found = fitted(tasks).prior, fitted(other).prior
    np.testing.assert_allclose(found.mean[:-1], 1e4 * plain.mean[:-1] / units, rtol=1e-6)
    assert found.mean[-1] == pytest.approx(1e4 * plain.mean[-1] - 7e4, rel=1e-6)
    assert found.noise == pytest.approx(1e8 * plain.noise, rel=1e-6)


def test_the_number_of_iterations_is_limited() -> None:
    problem = HierarchicalProblem(alike(30, noise=0.01))
    program = EmpiricalBayes(max_iter=3).program(problem, np.eye(N_FEATURES)[:, :1], 0)
    outcome = run_pooled(program, problem)
    assert outcome.reason == "reached the limit of 3 iterations"
    for options, message in (({"max_iter": 0}, "max_iter is 0"), ({"tol": -1.0}, "tol is -1")):
        with pytest.raises(PlanError, match=message):
            EmpiricalBayes(**options)


def test_other_problems_are_refused() -> None:
    problem = PROBLEMS["multitask"](0)
    with pytest.raises(PlanError, match="defines another model; pass HierarchicalProblem"):
        EmpiricalBayes().program(problem, np.eye(2), 0)


@pytest.mark.parametrize(("name", "most"), [("school", 0.722), ("parkinsons", 0.343)])
def test_ten_splits_of_case_7(name: str, most: float) -> None:
    """Printed in the paper, on splits that are not known: .761 and .339."""
    tasks = {"school": school, "parkinsons": parkinsons}[name]()
    errors = []
    for seed in range(10):
        train, test = hold_out_samples(tasks, 0.2, seed=seed)
        weights = fitted(train, intercepts=False).prior.solve(Designs.of(train, intercepts=False))
        errors.append(nmse_of_weights(weights, train, test).mean())
    assert np.mean(errors) <= most
