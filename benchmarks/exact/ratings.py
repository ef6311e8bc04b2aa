"""MovieLens-1M, 80% for training: the paper's formulation and the model with biases."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from benchmarks.exact.rows import Row, of_sums
from benchmarks.timing import timed

import grassvine as gv
from grassvine.data import hold_out_ratings
from grassvine.datasets import load_ratings
from grassvine.paper.scores import squared_errors
from grassvine.protocol.observers import AllFinished
from grassvine.sums import BiasedFactorization, BiasedModel
from grassvine.sums.program import run_pooled

UNOBSERVED = 0.02  # λ of our cost, .01 in the paper's
TEST_SHARE = 0.2


def movielens(
    dataset: str = "ml-1m", n_agents: tuple[int, ...] = (1, 5, 10, 20, 50), rank: int = 5
) -> Iterator[Row]:
    """The paper's formulation: ratings less their mean, clipped; the same error at every N."""
    train, test = hold_out_ratings(load_ratings(dataset).ratings, TEST_SHARE)
    mean = float(train.values.mean())
    bounds = (float(train.values.min()) - mean, float(train.values.max()) - mean)
    train, test = train.shifted(-mean), test.shifted(-mean)
    pooled = gv.CompletionProblem(train, unobserved=UNOBSERVED)
    errors: list[float] = []
    for count in n_agents:
        if count == 1:
            start = gv.Plan(train.n_items, rank, gv.networks.path(2)).start(0)
            program = gv.Exact().program(pooled, start, 0)
            ending, took = timed(partial(run_pooled, program, pooled))
            basis, sent = ending.iterate.basis, {}
        else:
            problems = [
                gv.CompletionProblem(part, unobserved=UNOBSERVED)
                for part in gv.datasets.split_users(train, count)
            ]
            plan = gv.Plan(train.n_items, rank, gv.networks.path(count), gv.Exact())
            result, took = timed(lambda plan=plan, problems=problems: gv.run(plan, problems))  # type: ignore[misc]
            basis, sent = result.bases[0], of_sums(result)
        squares = squared_errors(pooled, basis, test, bounds)
        errors.append(float(np.sqrt(squares / test.n_values)))
        yield {
            "what": f"{dataset}, the paper's formulation, rank {rank}, N = {count}",
            "test_rmse": errors[-1],
            "cost": pooled.evaluate(basis).cost,
            **sent,
            "cpu_seconds": took.cpu,
        }
    yield {
        "what": f"{dataset}, the paper's formulation, rank {rank}, all N",
        "largest_difference_of_test_rmse": max(errors) - min(errors),
    }


def biased(
    dataset: str = "ml-1m", seeds: tuple[int, ...] = (0, 1, 2), rank: int = 10, n_agents: int = 10
) -> Iterator[Row]:
    """Biases and factors, clipped; regularisation chosen on entries held out of the training part.

    Every agent predicts the test ratings of its own users.
    """
    ratings = load_ratings(dataset).ratings
    errors: list[float] = []
    for seed in seeds:
        parts = hold_out_ratings(ratings, TEST_SHARE, seed=seed)
        bounds = (float(parts[0].values.min()), float(parts[0].values.max()))
        train, test = (gv.datasets.split_users(part, n_agents) for part in parts)
        plan = gv.Plan(ratings.n_items, rank, gv.networks.path(n_agents), BiasedFactorization())
        factories = [
            partial(plan.agent, i, gv.BiasedCompletionProblem(part)) for i, part in enumerate(train)
        ]
        outcome, took = timed(
            lambda plan=plan, factories=factories: gv.LocalEngine().run(  # type: ignore[misc]
                factories, plan.timetable, AllFinished(n_agents)
            )
        )
        squares = 0.0
        for state, known, asked in zip(outcome.states, train, test, strict=True):
            model = BiasedModel.from_arrays(state)
            found = gv.BiasedCompletionProblem(known).predict(model, asked)
            squares += float(np.sum((np.clip(found, *bounds) - asked.values) ** 2))
        errors.append(float(np.sqrt(squares / sum(part.n_values for part in test))))
        yield {
            "what": f"{dataset}, biases, rank {rank}, N = {n_agents}, split {seed}",
            "test_rmse": errors[-1],
            "regularization": model.regularization,
            "bias_regularization": model.bias_regularization,
            "cpu_seconds": took.cpu,
        }
    yield {
        "what": f"{dataset}, biases, rank {rank}, N = {n_agents}, mean of {len(seeds)} splits",
        "test_rmse": float(np.mean(errors)),
    }
