"""The models of ratings that estimators fit: which problems agents get, and what they learn.

With *offsets*, the default, items have offsets and users biases. The *subspace* is the paper's
formulation: ratings less their mean, an orthonormal basis, λ on entries that are not known.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from grassvine.data import Ratings, RatingTable
from grassvine.engines import Run
from grassvine.foundations.arrays import Array
from grassvine.gossip import Exact, Method, Offsets, Validated
from grassvine.models import CompletionPenalties, ItemPart, OffsetPenalties
from grassvine.problems import CompletionProblem

RANKS = (2, 4, 8, 16, 32)  # those tried by rank="auto"
AGREEMENT = 0.05  # ρ as a share of the squares of an agent's centred ratings
PAPER_PENALTY = 0.02  # λ of the paper's Case 5 in our cost
Penalty = float | Literal["auto"]


@dataclass(frozen=True)
class Task:
    """What agents are given, how they go about it, and how to read what they learned."""

    method: Method
    problems: Sequence[CompletionProblem]
    rank: int
    read: Callable[[Run, RatingTable], ItemPart]


def with_offsets(parts: Sequence[Ratings], rank: int | None, penalty: Penalty) -> Task:
    """Fit offsets, biases and factors by sums; rank None is chosen by the agents."""
    most = _most(parts, rank)
    ranks = (*(r for r in RANKS if r < most), most) if rank is None else ()
    method = Offsets(mu=penalty, ranks=ranks)
    return Task(method, [CompletionProblem(part) for part in parts], most, _read_offsets)


def validated_subspace(parts: Sequence[Ratings], rank: int | None) -> Task:
    """Fit the paper's formulation by sums, with λ, and rank None, chosen by the agents."""
    method = Validated(any_rank=rank is None)
    problems = [CompletionProblem(part) for part in parts]
    return Task(method, problems, _most(parts, rank), _read_validated)


def subspace(
    parts: Sequence[Ratings], rank: int, penalty: float, method: Method | None = None
) -> Task:
    """Fit the paper's formulation with a given λ, by sums unless another method is given."""
    centre = mean_of(parts)
    problems = [CompletionProblem(part.shifted(-centre), unobserved=penalty) for part in parts]

    def read(run: Run, table: RatingTable) -> ItemPart:
        return subspace_part(table, run.mean, centre, CompletionPenalties(penalty))

    return Task(method or Exact(), problems, rank, read)


def mean_of(parts: Sequence[Ratings]) -> float:
    """Return the mean of all ratings: a sum over agents, as everything that they agree on."""
    return sum(float(part.values.sum()) for part in parts) / sum(part.n_values for part in parts)


def scaled_rho(parts: Sequence[Ratings]) -> float:
    """Return the weight of agreement that has the scale of the ratings.

    MovieLens-1M among 5 agents gets 1e4 so, which was chosen there on held-out ratings.
    """
    centre = mean_of(parts)
    squares = sum(float(np.sum((part.values - centre) ** 2)) for part in parts)
    return AGREEMENT * squares / len(parts)


def subspace_part(
    table: RatingTable, basis: Array, centre: float, penalties: CompletionPenalties
) -> ItemPart:
    """Return what is shared in the paper's formulation."""
    zeros = np.zeros(len(table.items))
    return _part(table, basis, zeros, centre, penalties)


def _read_offsets(run: Run, table: RatingTable) -> ItemPart:
    state = run.states[0]  # all agents have the same
    mu, mu_b = (float(value) for value in state["penalties"])
    factors, offsets = state["factors"].astype(np.float64), state["offsets"].astype(np.float64)
    centre = float(state["centre"][0])
    return _part(table, factors, offsets, centre, OffsetPenalties(mu, mu_b))


def _read_validated(run: Run, table: RatingTable) -> ItemPart:
    state = run.states[0]
    penalties = CompletionPenalties(float(state["unobserved"][0]))
    return subspace_part(table, run.bases[0], float(state["centre"][0]), penalties)


def _part(
    table: RatingTable,
    factors: Array,
    offsets: Array,
    centre: float,
    penalties: OffsetPenalties | CompletionPenalties,
) -> ItemPart:
    values = table.ratings.values
    return ItemPart(
        items=table.items,
        factors=factors,
        offsets=offsets,
        centre=centre,
        penalties=penalties,
        lowest=float(values.min()),
        highest=float(values.max()),
        counts=np.bincount(table.ratings.items, minlength=len(table.items)),
    )


def _most(parts: Sequence[Ratings], rank: int | None) -> int:
    """Return the rank, or the highest that is tried."""
    if rank is not None:
        return rank
    n_users = sum(part.n_users for part in parts)
    return max(1, min(RANKS[-1], parts[0].n_items - 1, n_users - 1))
