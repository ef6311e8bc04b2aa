"""The models of ratings that estimators fit: which problems agents get, and what they learn.

With *biases*, the default, items and users have biases. The *subspace* is the paper's
formulation: ratings less their mean, an orthonormal basis, λ on entries that are not known.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from grassvine.estimators.ratings_summary import RatingsSummary
from grassvine.foundations.arrays import Array
from grassvine.models import BiasedSolver, ItemPart, SubspaceSolver
from grassvine.protocol import Method
from grassvine.runs import ProblemSource, Run
from grassvine.sums import BiasedFactorization, Exact, Validated
from grassvine.sums.biased_fit import BiasedIterate
from grassvine.sums.validation import ValidatedIterate

RANKS = (2, 4, 8, 16, 32)  # those tried by rank="auto"
AGREEMENT = 0.05  # ρ as a share of the squares of an agent's centred ratings
PAPER_REGULARIZATION = 0.02  # λ of the paper's Case 5 in our cost
Regularization = float | Literal["auto"]


@dataclass(frozen=True)
class Task:
    """What agents are given, how they go about it, and how to read what they learned."""

    method: Method
    problems: Sequence[ProblemSource]
    rank: int
    read: Callable[[Run], ItemPart]


def biased_factors(
    summary: RatingsSummary, rank: int | None, regularization: Regularization
) -> Task:
    """Fit biases and factors by sums; rank None is chosen by the agents."""
    most = _most(summary, rank)
    ranks = (*(r for r in RANKS if r < most), most) if rank is None else ()
    method = BiasedFactorization(regularization=regularization, ranks=ranks)
    return Task(method, summary.problems(0.0, 0.0), most, partial(_read_biased, summary))


def validated_subspace(summary: RatingsSummary, rank: int | None) -> Task:
    """Fit the paper's formulation by sums, with λ, and rank None, chosen by the agents."""
    method = Validated(any_rank=rank is None)
    return Task(
        method,
        summary.problems(0.0, 0.0),
        _most(summary, rank),
        partial(_read_validated, summary),
    )


def subspace(
    summary: RatingsSummary, rank: int, regularization: float, method: Method | None = None
) -> Task:
    """Fit the paper's formulation with a given λ, by sums unless another method is given."""
    centre = summary.mean()

    def read(run: Run) -> ItemPart:
        return subspace_part(summary, run.mean, centre, SubspaceSolver(regularization))

    return Task(method or Exact(), summary.problems(centre, regularization), rank, read)


def scaled_rho(summary: RatingsSummary) -> float:
    """Return the weight of agreement that has the scale of the ratings.

    MovieLens-1M among 5 agents gets 1e4 so, which was chosen there on held-out ratings.
    """
    return AGREEMENT * summary.squares(summary.mean()) / summary.n_agents


def subspace_part(
    summary: RatingsSummary, basis: Array, centre: float, regularization: SubspaceSolver
) -> ItemPart:
    """Return what is shared in the paper's formulation."""
    return _part(summary, basis, np.zeros(len(summary.items)), centre, regularization)


def _read_biased(summary: RatingsSummary, run: Run) -> ItemPart:
    model = BiasedIterate.from_arrays(run.states[0])  # all agents have the same
    solver = BiasedSolver(model.regularization, model.bias_regularization)
    return _part(summary, model.factors, model.item_biases, model.centre, solver)


def _read_validated(summary: RatingsSummary, run: Run) -> ItemPart:
    model = ValidatedIterate.from_arrays(run.states[0])
    return subspace_part(summary, run.bases[0], model.centre, SubspaceSolver(model.unobserved))


def _part(
    summary: RatingsSummary,
    factors: Array,
    item_biases: Array,
    centre: float,
    solver: BiasedSolver | SubspaceSolver,
) -> ItemPart:
    return ItemPart(
        items=summary.items,
        factors=factors,
        item_biases=item_biases,
        centre=centre,
        solver=solver,
        lowest=summary.lowest,
        highest=summary.highest,
        counts=summary.counts,
    )


def _most(summary: RatingsSummary, rank: int | None) -> int:
    """Return the rank, or the highest that is tried."""
    if rank is not None:
        return rank
    return max(1, min(RANKS[-1], len(summary.items) - 1, summary.n_users - 1))
