"""The models of ratings that estimators fit: the problems, the method, and the fitted item part.

:class:`Biased`, the default, has item and user biases. :class:`Subspace` is the paper's formulation
of ratings minus their mean, with an orthonormal basis and λ on unknown entries;
:class:`ValidatedSubspace` lets the agents choose λ.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import numpy as np

from grassvine.data.stored import RatingDataset
from grassvine.data.tables import RatingTable
from grassvine.foundations.arrays import Array
from grassvine.models import BiasedSolver, ItemPart, SubspaceSolver
from grassvine.problems import CompletionProblem
from grassvine.problems.parts import ProblemSource, RatingsSource, problems_of
from grassvine.protocol import Method
from grassvine.runs import Run
from grassvine.sums import (
    BiasedCompletionProblem,
    BiasedFactorization,
    BiasedModel,
    Exact,
    Validated,
)
from grassvine.sums.validation import ValidatedIterate

RANKS = (2, 4, 8, 16, 32)  # candidates of rank="auto", besides 0
PAPER_REGULARIZATION = 0.02  # λ of the paper's Case 5 in our cost
Regularization = float | Literal["auto"]
# Labelled ratings, in memory or in files that the agents read.
RatingSource: TypeAlias = RatingTable | RatingDataset


class RatingsFormulation(Protocol):
    """A model of ratings: what agents solve, by which method, and how to read the result."""

    @property
    def rank(self) -> int:
        """The rank of the plan."""
        ...

    @property
    def method(self) -> Method:
        """The method of the plan."""
        ...

    def problems(self, parts: Sequence[RatingsSource]) -> list[ProblemSource]:
        """Return the problem of each agent."""
        ...

    def item_part(self, run: Run, table: RatingSource) -> ItemPart:
        """Return the shared part of the fitted model."""
        ...


@dataclass(frozen=True)
class Biased:
    """Biases and factors, by sums; the agents choose among several ranks.

    Parameters
    ----------
    ranks : tuple of int
        One rank, or candidates.
    regularization : float or "auto"
        Regularisation strength μ.
    """

    ranks: tuple[int, ...]
    regularization: Regularization

    @property
    def rank(self) -> int:
        """The largest rank; a plan has at least rank 1."""
        return max(*self.ranks, 1)

    @property
    def method(self) -> Method:
        """Sums along a tree."""
        return BiasedFactorization(regularization=self.regularization, ranks=self.ranks)

    def problems(self, parts: Sequence[RatingsSource]) -> list[ProblemSource]:
        """Return the problem of each agent."""
        return problems_of(parts, BiasedCompletionProblem)

    def item_part(self, run: Run, table: RatingSource) -> ItemPart:
        """Return the model of any agent; all are equal."""
        model = BiasedModel.from_arrays(run.states[0])
        solver = BiasedSolver(model.regularization, model.bias_regularization)
        return _item_part(table, model.factors, model.item_biases, model.centre, solver)


@dataclass(frozen=True)
class Subspace:
    """The paper's formulation with a given λ.

    Parameters
    ----------
    rank : int
    regularization : float
        λ in [0, 1).
    centre : float
        The mean of all ratings.
    method : Method
        Sums along a tree by default.
    """

    rank: int
    regularization: float
    centre: float
    method: Method = field(default_factory=Exact)

    def problems(self, parts: Sequence[RatingsSource]) -> list[ProblemSource]:
        """Return the problem of each agent."""
        return problems_of(
            parts, CompletionProblem, centre=self.centre, unobserved=self.regularization
        )

    def item_part(self, run: Run, table: RatingSource) -> ItemPart:
        """Return the mean of the agents' subspaces."""
        return subspace_part(table, run.mean, self.centre, self.regularization)


@dataclass(frozen=True)
class ValidatedSubspace:
    """The paper's formulation, with λ and optionally a smaller rank chosen by the agents."""

    rank: int
    any_rank: bool

    @property
    def method(self) -> Method:
        """Sums along a tree, validated on held-out entries."""
        return Validated(any_rank=self.any_rank)

    def problems(self, parts: Sequence[RatingsSource]) -> list[ProblemSource]:
        """Return the problem of each agent."""
        return problems_of(parts, CompletionProblem)

    def item_part(self, run: Run, table: RatingSource) -> ItemPart:
        """Return the model of any agent; all are equal."""
        model = ValidatedIterate.from_arrays(run.states[0])
        return subspace_part(table, run.bases[0], model.centre, model.unobserved)


def largest_rank(table: RatingSource) -> int:
    """Return the largest candidate of ``rank="auto"``."""
    return max(1, min(RANKS[-1], len(table.items) - 1, table.n_users - 1))


def candidate_ranks(table: RatingSource) -> tuple[int, ...]:
    """Return the candidates of ``rank="auto"``; 0 is the model of the biases alone."""
    largest = largest_rank(table)
    return (0, *(rank for rank in RANKS if rank < largest), largest)


def subspace_part(
    table: RatingSource, basis: Array, centre: float, regularization: float
) -> ItemPart:
    """Return the item part of the paper's formulation."""
    solver = SubspaceSolver(regularization)
    return _item_part(table, basis, np.zeros(len(table.items)), centre, solver)


def _item_part(
    table: RatingSource,
    factors: Array,
    item_biases: Array,
    centre: float,
    solver: BiasedSolver | SubspaceSolver,
) -> ItemPart:
    return ItemPart(
        items=table.items,
        factors=factors,
        item_biases=item_biases,
        centre=centre,
        solver=solver,
        lowest=table.lowest,
        highest=table.highest,
        counts=table.counts,
    )
