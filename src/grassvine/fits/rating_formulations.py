"""The models of ratings: the problems, the method, and how to read the fitted item part.

:func:`bayesian`, the default, integrates users out and learns all variances. :func:`biased` has
item and user biases too, and maximises the posterior for a given regularisation, or one that the
agents choose. :func:`subspace` is the paper's formulation of ratings minus their mean, with an
orthonormal basis and λ on unknown entries; :func:`validated_subspace` lets the agents choose λ.
:func:`rating_formulation` chooses among them by name.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from grassvine.data.stored import RatingDataset
from grassvine.data.tables import RatingTable
from grassvine.fits.options import GOSSIP, Rho, gossip_by_name, number_or_auto
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import Option, PlanError
from grassvine.foundations.options import one_of, real_number, whole_number
from grassvine.models import BiasedSolver, ItemPart, SubspaceSolver
from grassvine.problems import CompletionProblem
from grassvine.problems.parts import ProblemSource, RatingsSource, problems_of
from grassvine.protocol import Method
from grassvine.runs import Run
from grassvine.sums import (
    BayesianCompletionProblem,
    BayesianFactorization,
    BayesianModel,
    BiasedCompletionProblem,
    BiasedFactorization,
    BiasedModel,
    Exact,
    Validated,
)
from grassvine.sums.bayes.method import usual_rank
from grassvine.sums.validation import ValidatedIterate

METHODS = ("bayes", "map", "exact-subspace", *GOSSIP)
RANK = 10  # of methods for which the size of the table does not say what is best
RANKS = (2, 4, 8, 16, 32)  # candidates of rank="auto", besides 0
PAPER_REGULARIZATION = 0.02  # λ of the paper's Case 5 in our cost
# Constant ρ of the paper's variants, as a fraction of the mean sum of squared centred ratings per
# agent: 1e4 for MovieLens-1M divided among 5 agents, where it was chosen on held-out ratings.
CONSENSUS_SHARE = 0.05
Regularization = float | Literal["auto"]
# Labelled ratings, in memory or in files that the agents read.
RatingSource: TypeAlias = RatingTable | RatingDataset


class RatingsOptions(Protocol):
    """What is fitted to ratings: the parameters of ``MatrixCompleter`` with these names."""

    @property
    def rank(self) -> int | Literal["auto"] | None:
        """The number of factors per item."""
        ...

    @property
    def method(self) -> str:
        """One of ``METHODS``."""
        ...

    @property
    def regularization(self) -> Regularization:
        """The regularisation strength."""
        ...

    @property
    def rho(self) -> Rho:
        """The consensus weight of gossip."""
        ...

    @property
    def max_iter(self) -> int:
        """The number of updates per agent of methods other than the exact ones."""
        ...

    @property
    def learn_choices(self) -> bool:
        """Whether the agents also learn what users choose."""
        ...


@dataclass(frozen=True, slots=True)
class RatingsFormulation:
    """A model of ratings: what agents solve, by which method, and how to read the result.

    Attributes
    ----------
    rank : int
        The rank of the plan.
    method : Method
        The method of the plan.
    problems : function
        Returns the problems of the agents from the parts of the table.
    item_part : function
        Returns the shared part of the fitted model from the run and the table.
    with_choices : bool
        Whether the agents also learn what users choose.
    """

    rank: int
    method: Method
    problems: Callable[[Sequence[RatingsSource]], list[ProblemSource]]
    item_part: Callable[[Run, RatingSource], ItemPart]
    with_choices: bool = False


def rating_formulation(
    options: RatingsOptions, table: RatingSource, n_agents: int
) -> RatingsFormulation:
    """Return the formulation that is asked for by name, with the default rank of the table."""
    name = one_of("method", options.method, METHODS)
    number_or_auto("rank", options.rank, "an integer")
    number_or_auto("regularization", options.regularization)
    number_or_auto("rho", options.rho)
    auto, with_biases = options.rank == "auto", name in ("bayes", "map")
    if auto:
        rank = largest_rank(table)
    elif options.rank is None:
        rank = default_rank(table) if name == "bayes" else min(RANK, len(table.items))
    else:
        rank = rank_of_items(options.rank, len(table.items), 0 if with_biases else 1)
    if name == "bayes" and options.regularization != "auto":
        raise PlanError(
            "method 'bayes' learns how strongly to regularise; use ",
            Option("regularization", "auto"),
            ", or ",
            Option("method", "map"),
            ".",
        )
    if with_biases:
        ranks = candidate_ranks(table) if auto else (rank,)
        fitted = bayesian(ranks) if name == "bayes" else biased(ranks, options.regularization)
        return replace(fitted, with_choices=options.learn_choices)
    if name == "exact-subspace" and options.regularization == "auto":
        return validated_subspace(rank, any_rank=auto)
    if auto:
        raise PlanError(
            f"method {name!r} with a given regularization cannot choose the rank; use a number "
            "for ",
            Option("rank"),
            ", or ",
            Option("method", "bayes"),
            ".",
        )
    regularization = (
        PAPER_REGULARIZATION if options.regularization == "auto" else options.regularization
    )
    real_number("regularization", regularization, least=0.0, below=1.0)
    if name == "exact-subspace":
        return subspace(rank, regularization, table.mean())
    method = gossip_by_name(
        name,
        options.rho,
        options.max_iter,
        n_agents,
        squares=table.squares(table.mean()),
        share=CONSENSUS_SHARE,
        alone="bayes",
    )
    return subspace(rank, regularization, table.mean(), method)


def bayesian(ranks: tuple[int, ...]) -> RatingsFormulation:
    """Return the Bayesian model, by sums; the agents choose among several ranks."""
    return RatingsFormulation(
        max(*ranks, 1),  # a plan has at least rank 1
        BayesianFactorization(ranks=ranks),
        partial(problems_of, problem=BayesianCompletionProblem),
        _bayesian_part,
    )


def biased(ranks: tuple[int, ...], regularization: Regularization) -> RatingsFormulation:
    """Return the model with biases, by sums; the agents choose among several ranks.

    Parameters
    ----------
    ranks : tuple of int
        One rank, or candidates.
    regularization : float or "auto"
        Regularisation strength μ.
    """
    return RatingsFormulation(
        max(*ranks, 1),  # a plan has at least rank 1
        BiasedFactorization(regularization=regularization, ranks=ranks),
        partial(problems_of, problem=BiasedCompletionProblem),
        _biased_part,
    )


def subspace(
    rank: int, regularization: float, centre: float, method: Method | None = None
) -> RatingsFormulation:
    """Return the paper's formulation with a given λ.

    Parameters
    ----------
    regularization : float
        λ in [0, 1).
    centre : float
        The mean of all ratings.
    method : Method, optional
        Sums along a tree by default.
    """
    return RatingsFormulation(
        rank,
        method or Exact(),
        partial(problems_of, problem=CompletionProblem, centre=centre, unobserved=regularization),
        lambda run, table: subspace_part(table, run.mean, centre, regularization),
    )


def validated_subspace(rank: int, *, any_rank: bool) -> RatingsFormulation:
    """Return the paper's formulation, with λ and optionally a smaller rank chosen by the agents."""
    return RatingsFormulation(
        rank,
        Validated(any_rank=any_rank),
        partial(problems_of, problem=CompletionProblem),
        _validated_part,
    )


def rank_of_items(rank: object, n_items: int, least: int = 1) -> int:
    """Return a rank that is at most the number of items."""
    why = f"the table has {n_items} items"
    return whole_number("rank", rank, least=least, most=n_items, why=why)


def default_rank(table: RatingSource) -> int:
    """Return the rank of the Bayesian model for a table of this size."""
    n_items = int(np.count_nonzero(table.counts))
    return usual_rank(n_items, table.n_users, table.n_ratings)


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
    return ItemPart(
        factors=basis,
        item_biases=np.zeros(len(table.items)),
        centre=centre,
        solver=SubspaceSolver(regularization),
        **_counted(table),
    )


def _bayesian_part(run: Run, table: RatingSource) -> ItemPart:
    """Return the model of any agent; all are equal."""
    counted = _counted(table)
    return ItemPart.bayesian(BayesianModel.from_arrays(run.states[0]), **counted)


def _biased_part(run: Run, table: RatingSource) -> ItemPart:
    """Return the model of any agent; all are equal."""
    counted = _counted(table)
    model = BiasedModel.from_arrays(run.states[0])
    solver = BiasedSolver(model.regularization, model.bias_regularization)
    return ItemPart(
        factors=model.factors,
        item_biases=model.item_biases,
        centre=model.centre,
        solver=solver,
        **counted,
    )


def _validated_part(run: Run, table: RatingSource) -> ItemPart:
    """Return the model of any agent; all are equal."""
    model = ValidatedIterate.from_arrays(run.states[0])
    return subspace_part(table, run.bases[0], model.centre, model.unobserved)


def _counted(table: RatingSource) -> dict[str, Any]:
    """Return what an item part tells of the ratings themselves."""
    return {
        "items": table.items,
        "lowest": table.lowest,
        "highest": table.highest,
        "counts": table.counts,
    }
