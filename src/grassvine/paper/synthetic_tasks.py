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
    """The sizes of synthetic tasks."""

    n_items: int
    n_tasks: int
    rank: int = 5


@dataclass(frozen=True)
class SubspaceExperiment:
    """Find the subspace of synthetic tasks, by agents and by one owner of all."""

    sizes: Mapping[Scale, SyntheticTasks]
    variants: tuple[Variant, ...]
    n_agents: int = 6
    repeats: int = 1

    def run(self, request: Request) -> Results:
        """Run everything, for every repeat."""
        finished: list[Finished] = []
        sizes = self.sizes[request.scale]
        n_agents = request.n_agents or self.n_agents
        for repeat in range(request.repeats or self.repeats):
            data = subspace_tasks(
                sizes.n_items, sizes.n_tasks, sizes.rank, seed=request.seed + repeat
            )
            dataset = f"{sizes.n_tasks} tasks of {sizes.n_items} features"
            finished.append(_batch(data.tasks, data.subspace, sizes.rank, dataset, repeat, request))
            for variant in self._variants(data.tasks, n_agents, sizes.rank, request):
                parts = [MultitaskProblem(part) for part in split_tasks(data.tasks, n_agents)]
                watched = [Watched(part, data.subspace) for part in parts]
                # The exact method looks at the tasks themselves, and evaluates them in its own way.
                gossiping = isinstance(variant.method(n_agents), Gossip)
                one = run_variant(
                    variant,
                    watched if gossiping else parts,
                    sizes.rank,
                    dataset=dataset,
                    repeat=repeat,
                    request=request,
                    score=lambda result: {},
                    truth=data.subspace,
                )
                traces = {"distance to truth": [np.array(each.distances) for each in watched]}
                finished.append(replace(one, traces=traces if gossiping else {}))
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
class Watched:
    """A problem that notes how far from the truth each basis is that it is asked about.

    An agent evaluates its problem once an update, so the notes are a curve over its updates.
    """

    problem: LocalProblem
    truth: Array
    distances: list[float] = field(default_factory=list)

    @property
    def n_items(self) -> int:
        """The number of items of the problem."""
        return self.problem.n_items

    @property
    def n_values(self) -> int:
        """The number of values of the problem."""
        return self.problem.n_values

    def evaluate(self, basis: Array) -> Evaluation:
        """Note the distance and evaluate the problem."""
        self.distances.append(Grassmann().distance(basis, self.truth))
        return self.problem.evaluate(basis)

    def weights(self, basis: Array) -> Array:
        """Return the weights of the problem."""
        return self.problem.weights(basis)


def _batch(
    tasks: Tasks, truth: Array, rank: int, dataset: str, repeat: int, request: Request
) -> Finished:
    everything = MultitaskProblem(tasks)
    rng = stream(request.seed + repeat, "start", "batch")

    def solve() -> tuple[Array, int]:
        result = rtrmc(everything, Grassmann().random_point(tasks.n_items, rank, rng))
        return result.basis, len(result.iterations)

    return run_batch(
        BATCH, solve, everything, dataset=dataset, repeat=repeat, score=lambda _: {}, truth=truth
    )
