"""Experiments on synthetic tasks with a known subspace: Case 6."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from grassvine.baselines import rtrmc
from grassvine.data import Tasks, split_tasks
from grassvine.datasets import subspace_tasks
from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.geometry import Grassmann
from grassvine.gossip import Gossip
from grassvine.paper.case import Finished, Request, Results, Scale
from grassvine.paper.runs import run_batch, run_variant
from grassvine.paper.tuning import task_folds, with_best_step
from grassvine.paper.variants import Variant
from grassvine.problems import Evaluation, LocalProblem, MultitaskProblem

BATCH = "batch (trust region)"


@dataclass(frozen=True)
class SyntheticTasks:
    """Sizes of synthetic tasks."""

    n_items: int
    n_tasks: int
    rank: int = 5


@dataclass(frozen=True)
class SubspaceExperiment:
    """Recover the subspace of synthetic tasks, with agents and with pooled tasks."""

    sizes: Mapping[Scale, SyntheticTasks]
    variants: tuple[Variant, ...]
    n_agents: int = 6
    repeats: int = 1

    def run(self, request: Request) -> Results:
        """Run all methods for every repeat."""
        finished: list[Finished] = []
        sizes = self.sizes[request.scale]
        n_agents = request.n_agents or self.n_agents
        for repeat in range(request.repeats or self.repeats):
            data = subspace_tasks(
                sizes.n_items, sizes.n_tasks, sizes.rank, seed=request.seed + repeat
            )
            dataset = f"{sizes.n_tasks} tasks of {sizes.n_items} features"
            batch = _run_batch(data.tasks, data.subspace, sizes.rank, dataset, repeat, request)
            finished.append(batch)
            for variant in self._variants(data.tasks, n_agents, sizes.rank, request):
                parts = [MultitaskProblem(part) for part in split_tasks(data.tasks, n_agents)]
                recorded = [_Recorded(part, data.subspace) for part in parts]
                # The exact method accesses the tasks directly and cannot use the wrapper.
                is_gossip = isinstance(variant.method(n_agents), Gossip)
                one = run_variant(
                    variant,
                    recorded if is_gossip else parts,
                    sizes.rank,
                    dataset=dataset,
                    repeat=repeat,
                    request=request,
                    score=lambda result: {},
                    truth=data.subspace,
                )
                traces = {"distance to truth": [np.array(each.distances) for each in recorded]}
                finished.append(replace(one, traces=traces if is_gossip else {}))
        return Results(tuple(finished))

    def _variants(
        self, tasks: Tasks, n_agents: int, rank: int, request: Request
    ) -> Iterator[Variant]:
        for variant in self.variants:
            yield variant
            if request.tune and isinstance(variant.method(n_agents), Gossip):
                folds = task_folds(tasks, 0.0, n_agents, request)
                yield with_best_step(variant, folds, rank, request)


@dataclass
class _Recorded:
    """A problem that records the distance to the truth of every basis it evaluates.

    An agent evaluates its problem once per update, so the distances form a curve over its updates.
    """

    problem: LocalProblem
    truth: Array
    distances: list[float] = field(default_factory=list)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.problem.n_items

    @property
    def n_values(self) -> int:
        """Number of values."""
        return self.problem.n_values

    def evaluate(self, basis: Array) -> Evaluation:
        """Record the distance and evaluate the problem."""
        self.distances.append(Grassmann().distance(basis, self.truth))
        return self.problem.evaluate(basis)

    def weights(self, basis: Array) -> Array:
        """Return the weights at a basis."""
        return self.problem.weights(basis)


def _run_batch(
    tasks: Tasks, truth: Array, rank: int, dataset: str, repeat: int, request: Request
) -> Finished:
    pooled = MultitaskProblem(tasks)
    rng = stream(request.seed + repeat, "start", "batch")

    def solve() -> tuple[Array, int]:
        result = rtrmc(pooled, Grassmann().random_point(tasks.n_items, rank, rng))
        return result.basis, len(result.iterations)

    return run_batch(
        BATCH, solve, pooled, dataset=dataset, repeat=repeat, score=lambda _: {}, truth=truth
    )
