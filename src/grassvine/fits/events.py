"""Fits of events: from a table and its parts to a model that ranks."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from grassvine.data import Ids
from grassvine.data.stored import RatingDataset
from grassvine.data.tables.event_table import EventTable
from grassvine.engines import Engine
from grassvine.fits.options import as_network
from grassvine.foundations.callers import stack_level
from grassvine.foundations.errors import DataError, Option, UnknownIdWarning
from grassvine.foundations.options import one_of, whole_number
from grassvine.models import RankingModel
from grassvine.models.ranking.parts import RankedItems, RankedUsers
from grassvine.models.ranking.scorers import FactorScorer, RegressionScorer, Scorer
from grassvine.networks import Network
from grassvine.problems.parts import RatingsSource, problems_of
from grassvine.protocol import Method, Observer
from grassvine.runs import Plan, Run, run
from grassvine.sums import EASE, ImplicitFactorization, ImplicitModel, ImplicitProblem
from grassvine.sums.implicit.ease import ItemRegressions
from grassvine.sums.implicit.strengths import default_rank

METHODS = ("factors", "ease")
EventSource: TypeAlias = EventTable | RatingDataset


class EventsOptions(Protocol):
    """What is fitted to events: the parameters of ``ImplicitRecommender`` with these names."""

    @property
    def rank(self) -> int | Literal["auto"]:
        """The number of factors per item."""
        ...

    @property
    def method(self) -> str:
        """One of ``METHODS``."""
        ...

    @property
    def unobserved(self) -> float | Literal["auto"]:
        """The weight of a pair without an event."""
        ...

    @property
    def regularization(self) -> float | Literal["auto"]:
        """The regularisation strength."""
        ...


def rank_and_method(options: EventsOptions, table: EventSource) -> tuple[int, Method]:
    """Return the rank of the plan, and the method that is asked for by name."""
    if table.n_ratings < 2 or len(table.items) < 2 or table.n_users < 2:
        raise DataError(
            f"the table has {table.n_ratings} event{'s' * (table.n_ratings != 1)} of "
            f"{table.n_users} user{'s' * (table.n_users != 1)} with {len(table.items)} "
            f"item{'s' * (len(table.items) != 1)}; recommendations need two users and two items or "
            "more."
        )
    if one_of("method", options.method, METHODS) == "ease":
        return 1, EASE(options.regularization)  # a plan has at least rank 1
    n_items = len(table.items)
    why = f"the table has {n_items} items"
    rank = (
        default_rank(table.n_ratings, table.n_users, n_items)
        if options.rank == "auto"
        else whole_number("rank", options.rank, least=1, most=n_items, why=why)
    )
    return rank, ImplicitFactorization(options.unobserved, options.regularization)


@dataclass(frozen=True, slots=True, eq=False)
class EventsFit:
    """A model fitted to events, without users if these stayed in files, and the run."""

    model: RankingModel
    run: Run


def fit_events(
    table: EventSource,
    parts: Sequence[RatingsSource],
    rank: int,
    method: Method,
    *,
    network: str | Network = "ring",
    seed: int = 0,
    engine: Engine | None = None,
    observers: Sequence[Observer] = (),
) -> EventsFit:
    """Fit a model to events that are divided among agents.

    Parameters
    ----------
    table : EventTable or RatingDataset
    parts : sequence of Ratings or functions
        The events of each agent, or functions that load them where the agent runs.
    rank, method
        As :func:`rank_and_method` returns them.
    network, seed, engine, observers
        As in :func:`grassvine.fits.ratings.fit_ratings`.
    """
    network = as_network(network, len(parts), method)
    plan = Plan(len(table.items), rank, network, method, seed=seed)
    result = run(plan, problems_of(parts, ImplicitProblem), engine=engine, observers=observers)
    shared = RankedItems(table.items, table.counts, scorer_of(result))
    users = None if isinstance(table, RatingDataset) else RankedUsers(table.users, table.ratings)
    return EventsFit(RankingModel(shared, users), result)


def with_events(model: RankingModel, table: EventTable) -> RankingModel:
    """Return the model with these users, or further events of known ones, added.

    Items that the model does not know get factors; a regression leaves them out with a warning.
    """
    users = identified_users(model, table)
    if isinstance(model.shared.scorer, FactorScorer):
        model = model.with_items(users, table.items, table.ratings)
    added = model.with_users(users, table.items, table.ratings, unknown_items="drop")
    if added.n_dropped:
        warnings.warn(
            UnknownIdWarning(
                f"{added.n_dropped} of {table.n_ratings} events are of items that the model "
                "does not know, and were left out; fit again, or use ",
                Option("method", "factors"),
                ".",
            ),
            stacklevel=stack_level(),
        )
    return added.model


def identified_users(model: RankingModel, table: EventTable) -> Ids:
    """Return the users, with their owners if the model identifies users by id and owner."""
    private = model.private
    by_owner = private is not None and private.users.owners is not None
    return table.users_with_owners if by_owner else table.users


def scorer_of(result: Run) -> Scorer:
    """Return the scorer of any agent; all are equal."""
    state = result.states[0]
    if isinstance(result.plan.method, EASE):
        return RegressionScorer(ItemRegressions.from_arrays(state))
    return FactorScorer(ImplicitModel.from_arrays(state))
