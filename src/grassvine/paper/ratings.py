"""Experiments on real ratings: Case 5."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grassvine.baselines import rtrmc, spectral_start
from grassvine.data import Ratings, fold_ratings, hold_out_ratings, split_users
from grassvine.data.tables import RatingTable
from grassvine.datasets import SOURCES, load_ratings, read_ratings_file
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, unknown
from grassvine.paper.case import Finished, Request, Results, Scale
from grassvine.paper.runs import run_batch, run_variant
from grassvine.paper.scores import (
    squared_errors,
    squared_errors_by_bayes,
    squared_errors_with_biases,
)
from grassvine.paper.tuning import N_FOLDS, Fold, with_best_step
from grassvine.paper.variants import Variant, precon_stochastic_gossip
from grassvine.problems import CompletionProblem
from grassvine.runs import Run
from grassvine.sums import (
    BayesianCompletionProblem,
    BayesianFactorization,
    BayesianModel,
    BiasedCompletionProblem,
    BiasedFactorization,
    BiasedModel,
)

BATCH = "RTRMC (batch)"
TEST_SHARE = 0.2


@dataclass(frozen=True)
class Protocol:
    """Settings of the paper for a data set: ranks, numbers of agents and ρ."""

    ranks: tuple[int, ...]
    n_agents: tuple[int, ...]
    rho: float


@dataclass(frozen=True)
class RatingsExperiment:
    """Learn from 80% of the ratings, centred by their mean, and predict the other 20%.

    Parameters
    ----------
    defaults : mapping
        Default data sets, by scale.
    protocols : mapping
        Settings by data set; ``"other"`` applies to data sets that are not listed.
    repeats : mapping
        Default number of splits, by scale.
    unobserved : float
        λ of our cost.
    updates : int
        Number of updates of an agent at an end of the path.
    small_ranks : tuple of int
        Ranks at the small scale.
    beside : tuple of Variant, default=()
        Further methods; those with biases use λ = 0 and their own regularisation.
    """

    defaults: Mapping[Scale, tuple[str, ...]]
    protocols: Mapping[str, Protocol]
    repeats: Mapping[Scale, int]
    unobserved: float
    updates: int
    small_ranks: tuple[int, ...]
    beside: tuple[Variant, ...] = ()

    def run(self, request: Request) -> Results:
        """Run all methods for every data set and repeat."""
        finished: list[Finished] = []
        for name in request.datasets or self.defaults[request.scale]:
            title, table = _load(name)
            for repeat in range(request.repeats or self.repeats[request.scale]):
                split = _Split.from_ratings(table.ratings, request.seed + repeat)
                finished += self._run_split(title, split, repeat, request)
        return Results(tuple(finished))

    def _run_split(
        self, dataset: str, split: "_Split", repeat: int, request: Request
    ) -> Iterator[Finished]:
        protocol = self.protocols.get(dataset, self.protocols["other"])
        counts = (request.n_agents,) if request.n_agents else protocol.n_agents
        for rank in self.small_ranks if request.scale == "small" else protocol.ranks:
            yield self._run_batch(dataset, split, rank, repeat, request)
            for n_agents in counts:
                for variant in self._variants(protocol.rho, split, n_agents, rank, request):
                    yield self._run_agents(variant, dataset, split, n_agents, rank, repeat, request)

    def _run_batch(
        self, dataset: str, split: "_Split", rank: int, repeat: int, request: Request
    ) -> Finished:
        pooled = CompletionProblem(split.train, unobserved=self.unobserved)

        def solve() -> tuple[Array, int]:
            start = spectral_start(split.train, rank, seed=request.seed + repeat)
            result = rtrmc(pooled, start, tol=1e-6)
            return result.basis, len(result.iterations)

        return run_batch(
            BATCH,
            solve,
            pooled,
            dataset=dataset,
            repeat=repeat,
            score=lambda basis: {"test_rmse": split.rmse(pooled, basis)},
        )

    def _variants(
        self, rho: float, split: "_Split", n_agents: int, rank: int, request: Request
    ) -> Iterator[Variant]:
        variant = precon_stochastic_gossip(rho, self.updates)
        yield variant
        if request.tune:
            pairs = fold_ratings(split.train, N_FOLDS, seed=request.seed)
            folds = [self._fold(split, *pair, n_agents) for pair in pairs]
            yield with_best_step(variant, folds, rank, request)
        yield from self.beside

    def _fold(self, split: "_Split", train: Ratings, test: Ratings, n_agents: int) -> Fold:
        inner = _Split(train, test, split.bounds)
        pooled = CompletionProblem(train, unobserved=self.unobserved)
        problems = _problems(train, n_agents, self.unobserved)
        return Fold(problems, lambda run: inner.rmse(pooled, run.mean))

    def _run_agents(
        self,
        variant: Variant,
        dataset: str,
        split: "_Split",
        n_agents: int,
        rank: int,
        repeat: int,
        request: Request,
    ) -> Finished:
        method = variant.method(n_agents)
        pooled = CompletionProblem(split.train, unobserved=self.unobserved)
        parts, problems = split_users(split.train, n_agents), list[Any]()
        if isinstance(method, BayesianFactorization):
            problems = [BayesianCompletionProblem(part) for part in parts]
        elif isinstance(method, BiasedFactorization):
            problems = [BiasedCompletionProblem(part) for part in parts]
        else:
            problems = _problems(split.train, n_agents, self.unobserved)

        def score(result: Run) -> dict[str, float]:
            state = result.states[0]  # with biases, all agents end with the same model
            if isinstance(method, BayesianFactorization):
                return {"test_rmse": split.rmse_by_bayes(BayesianModel.from_arrays(state))}
            if isinstance(method, BiasedFactorization):
                return {"test_rmse": split.rmse_with_biases(BiasedModel.from_arrays(state))}
            return {"test_rmse": split.rmse(pooled, result.mean)}

        return run_variant(
            variant,
            problems,
            rank,
            dataset=dataset,
            repeat=repeat,
            request=request,
            score=score,
        )


@dataclass(frozen=True, eq=False)
class _Split:
    """Training and test ratings, centred by the training mean, and the range of ratings."""

    train: Ratings
    test: Ratings
    bounds: tuple[float, float]

    @classmethod
    def from_ratings(cls, ratings: Ratings, seed: int) -> "_Split":
        train, test = hold_out_ratings(ratings, TEST_SHARE, seed=seed)
        mean = float(train.values.mean())
        bounds = (float(train.values.min()) - mean, float(train.values.max()) - mean)
        return cls(train.shifted(-mean), test.shifted(-mean), bounds)

    def rmse(self, pooled: CompletionProblem, basis: Array) -> float:
        """Return the test RMSE, with each user's weights fitted to its training ratings."""
        return self._root(squared_errors(pooled, basis, self.test, self.bounds))

    def rmse_with_biases(self, model: BiasedModel) -> float:
        """Return the test RMSE of a model with biases."""
        return self._root(squared_errors_with_biases(self.train, model, self.test, self.bounds))

    def rmse_by_bayes(self, model: BayesianModel) -> float:
        """Return the test RMSE of a Bayesian model."""
        return self._root(squared_errors_by_bayes(self.train, model, self.test, self.bounds))

    def _root(self, total: float) -> float:
        return float(np.sqrt(total / self.test.n_values))


def _problems(train: Ratings, n_agents: int, unobserved: float) -> list[CompletionProblem]:
    parts = split_users(train, n_agents)
    return [CompletionProblem(part, unobserved=unobserved) for part in parts]


def _load(name: str) -> tuple[str, RatingTable]:
    """Return the title and the ratings of a published data set or a ratings file."""
    if name in SOURCES:
        return name, load_ratings(name)
    if Path(name).exists():
        return name, read_ratings_file(name)
    raise DataError(f"{unknown('data set', name, SOURCES)} Or pass the path of a ratings file.")
