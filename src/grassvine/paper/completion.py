"""Experiments on synthetic tables: Figure 1 and Cases 1 to 4."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grassvine.data import Ratings, fold_ratings, hold_out_ratings, split_users
from grassvine.datasets import LowRankRatings, low_rank_ratings
from grassvine.gossip import Gossip
from grassvine.paper.case import Finished, Request, Results, Scale
from grassvine.paper.runs import run_variant
from grassvine.paper.scores import mean_squared_error
from grassvine.paper.tuning import N_FOLDS, best, rating_fold, with_best_step
from grassvine.paper.variants import Variant
from grassvine.problems import CompletionProblem
from grassvine.runs import Run

N_TEST = 100_000
NOISE_FLOOR = 1e-12  # variance of the noise
HELD_OUT = 0.2


@dataclass(frozen=True)
class LowRankTable:
    """Parameters of a synthetic table."""

    n_items: int
    n_users: int
    rank: int = 5
    oversampling: float = 6.0
    condition: float | None = None

    def draw(self, seed: int) -> LowRankRatings:
        """Draw the table."""
        return low_rank_ratings(
            self.n_items,
            self.n_users,
            self.rank,
            oversampling=self.oversampling,
            condition=self.condition,
            n_test=N_TEST,
            seed=seed,
        )

    def __str__(self) -> str:
        """Return the sizes and the condition number."""
        condition = "" if self.condition is None else f", condition {self.condition:g}"
        return f"{self.n_items} × {self.n_users}{condition}"


@dataclass(frozen=True)
class OneOf:
    """Candidates from which the best on held-out training entries is chosen."""

    candidates: tuple[Variant, ...]


@dataclass(frozen=True)
class CompletionExperiment:
    """Complete a table with each of several methods."""

    tables: Mapping[Scale, LowRankTable]
    methods: tuple[Variant | OneOf, ...]
    n_agents: int = 6
    repeats: int = 1

    def run(self, request: Request) -> Results:
        """Run all methods for every repeat."""
        finished = []
        table = self.tables[request.scale]
        variants: Sequence[Variant] | None = None
        for repeat in range(request.repeats or self.repeats):
            data = table.draw(request.seed + repeat)
            n_agents = request.n_agents or self.n_agents
            # Variants are chosen on the first table and reused for the others.
            variants = variants or list(self._variants(data.ratings, n_agents, table.rank, request))
            finished += _complete(variants, data, table, n_agents, repeat, request)
        return Results(tuple(finished))

    def _variants(
        self, ratings: Ratings, n_agents: int, rank: int, request: Request
    ) -> Iterator[Variant]:
        for entry in self.methods:
            if isinstance(entry, OneOf):
                parts = hold_out_ratings(ratings, HELD_OUT, seed=request.seed)
                fold = rating_fold(*parts, n_agents)
                variant = best(entry.candidates, [fold], rank, request)
            else:
                variant = entry
            yield variant
            if request.tune and isinstance(variant.method(n_agents), Gossip):
                pairs = fold_ratings(ratings, N_FOLDS, seed=request.seed)
                folds = [rating_fold(*pair, n_agents) for pair in pairs]
                yield with_best_step(variant, folds, rank, request)


def _complete(
    variants: Sequence[Variant],
    data: LowRankRatings,
    table: LowRankTable,
    n_agents: int,
    repeat: int,
    request: Request,
) -> list[Finished]:
    problems = [CompletionProblem(part) for part in split_users(data.ratings, n_agents)]
    assert data.test is not None
    tests = split_users(data.test, n_agents)

    def score(result: Run) -> dict[str, float]:
        return {"test_mse": mean_squared_error(problems, result.bases, tests)}

    return [
        run_variant(
            variant,
            problems,
            table.rank,
            dataset=str(table),
            repeat=repeat,
            request=request,
            score=score,
            truth=data.subspace,
        )
        for variant in variants
    ]
