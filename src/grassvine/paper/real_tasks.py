"""Experiments on real tasks: Case 7."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from grassvine.baselines import alt_min
from grassvine.data import Tasks, hold_out_samples, split_tasks
from grassvine.datasets import load_tasks
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.gossip import Gossip
from grassvine.paper.case import Finished, Record, Request, Results, Scale
from grassvine.paper.runs import run_variant
from grassvine.paper.scores import nmse_of_weights, normalised_errors
from grassvine.paper.tuning import task_folds, with_best_step
from grassvine.paper.variants import Variant
from grassvine.problems import MultitaskProblem
from grassvine.runs import Run
from grassvine.sums import CoefficientPrior, HierarchicalProblem

ALT_MIN = "Alt-Min (batch)"
TEST_SHARE = 0.2


@dataclass(frozen=True)
class BenchmarkExperiment:
    """Predict held-out samples of real tasks and measure the NMSE by rank and by agent."""

    defaults: tuple[str, ...]
    ranks: Mapping[Scale, tuple[int, ...]]
    repeats: Mapping[Scale, int]
    variants: tuple[Variant, ...]
    bayes: Variant
    alpha: float
    alt_min_alpha: float
    n_agents: int = 6

    def run(self, request: Request) -> Results:
        """Run all methods for every data set and split."""
        finished: list[Finished] = []
        for dataset in request.datasets or self.defaults:
            tasks = load_tasks(dataset)
            for repeat in range(request.repeats or self.repeats[request.scale]):
                parts = hold_out_samples(tasks, TEST_SHARE, seed=request.seed + repeat)
                finished += self._run_split(dataset, *parts, repeat, request)
        return Results(tuple(finished))

    def _run_split(
        self, dataset: str, train: Tasks, test: Tasks, repeat: int, request: Request
    ) -> Iterator[Finished]:
        n_agents = request.n_agents or self.n_agents
        yield self._run_alt_min(dataset, train, test, n_agents, repeat)
        yield self._run_bayes(dataset, train, test, n_agents, repeat, request)
        problems = [
            MultitaskProblem(part, alpha=self.alpha) for part in split_tasks(train, n_agents)
        ]
        tests = split_tasks(test, n_agents)
        for rank in self.ranks[request.scale]:
            for variant in self._variants(train, n_agents, rank, request):
                errors: list[Array] = []

                def score(result: Run, errors: list[Array] = errors) -> dict[str, float]:
                    errors += map(normalised_errors, problems, result.bases, tests)
                    return {"nmse": float(np.concatenate(errors).mean())}

                one = run_variant(
                    variant,
                    problems,
                    rank,
                    dataset=dataset,
                    repeat=repeat,
                    request=request,
                    score=score,
                )
                yield replace(one, traces={"nmse": errors})

    def _variants(
        self, train: Tasks, n_agents: int, rank: int, request: Request
    ) -> Iterator[Variant]:
        for variant in self.variants:
            yield variant
            if request.tune and isinstance(variant.method(n_agents), Gossip):
                folds = task_folds(train, self.alpha, n_agents, request)
                yield with_best_step(variant, folds, rank, request)

    def _run_bayes(
        self,
        dataset: str,
        train: Tasks,
        test: Tasks,
        n_agents: int,
        repeat: int,
        request: Request,
    ) -> Finished:
        problems = [
            HierarchicalProblem(part, intercepts=False) for part in split_tasks(train, n_agents)
        ]
        tests = split_tasks(test, n_agents)
        errors: list[Array] = []

        def score(result: Run) -> dict[str, float]:
            for problem, state, asked in zip(problems, result.states, tests, strict=True):
                with one_blas_thread():
                    weights = CoefficientPrior.from_arrays(state).solve(problem.designs)
                errors.append(nmse_of_weights(weights, problem.tasks, asked))
            return {"nmse": float(np.concatenate(errors).mean())}

        one = run_variant(
            self.bayes,
            problems,
            train.n_items,  # all directions: there is no rank
            dataset=dataset,
            repeat=repeat,
            request=request,
            score=score,
        )
        return replace(one, traces={"nmse": errors})

    def _run_alt_min(
        self, dataset: str, train: Tasks, test: Tasks, n_agents: int, repeat: int
    ) -> Finished:
        start = time.process_time()
        result = alt_min(train, self.alt_min_alpha)
        seconds = time.process_time() - start
        errors = nmse_of_weights(result.weights, train, test)
        residuals = [
            x @ w - y for x, y, w in zip(train.features, train.targets, result.weights, strict=True)
        ]
        mse = float(np.mean(np.concatenate(residuals) ** 2))
        record = Record(
            method=ALT_MIN,
            dataset=dataset,
            repeat=repeat,
            n_agents=1,
            rank=train.n_items,
            rho=None,
            updates=len(result.objectives),
            train_mse=mse,
            worst_agent_train_mse=mse,
            consensus_distance=0.0,
            messages=0,
            bytes=0,
            cpu_seconds=seconds,
            nmse=float(errors.mean()),
        )
        shares = [len(part.targets) for part in split_tasks(train, n_agents)]
        errors_by_agent = np.split(errors, np.cumsum(shares)[:-1])
        return Finished(record, traces={"nmse": errors_by_agent})
