"""Matrix completion: learn from ratings that one or many parties hold, predict and recommend."""

from typing import Any, Literal, Self

from grassvine.data import Ids
from grassvine.data.stored import RatingDataset
from grassvine.data.tables.conversion import backend_of
from grassvine.data.tables.rating_input import Missing
from grassvine.data.tables.rating_table import Duplicates
from grassvine.engines import Engine
from grassvine.estimators.callbacks import CallbackSupport, fit_with_callbacks
from grassvine.estimators.fitted import set_run_attributes, warn_not_converged
from grassvine.estimators.options import (
    GOSSIP,
    RandomState,
    as_engine,
    as_network,
    as_seed,
    gossip_by_name,
)
from grassvine.estimators.rating_models import (
    PAPER_REGULARIZATION,
    Biased,
    RatingsFormulation,
    RatingSource,
    Regularization,
    Subspace,
    ValidatedSubspace,
    candidate_ranks,
    largest_rank,
    scaled_rho,
)
from grassvine.estimators.recommender import RatingsEstimator
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, Option, PlanError
from grassvine.foundations.options import one_of, real_number, whole_number
from grassvine.models import RatingsModel
from grassvine.models.unknown import OnUnknown
from grassvine.networks import Network
from grassvine.runs import Plan, run

METHODS = ("exact", "exact-subspace", *GOSSIP)


class DecentralizedCompleter(CallbackSupport, RatingsEstimator):
    """Base class of estimators whose ratings are held by several agents."""

    agents: int | str
    network: str | Network
    engine: str | Engine
    random_state: RandomState
    warm_start: bool

    def _formulation(self, table: RatingSource, n_agents: int) -> RatingsFormulation:
        raise NotImplementedError

    @fit_with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        X : data frame, SciPy matrix, array, list of data frames, RatingTable or RatingDataset
            A frame (pandas, polars, pyarrow) with one row per rating; or a matrix with one row per
            user and one column per item, where NaN is unknown in a dense one; or, with ``y``, one
            pair of user and item per row. A list has one frame per agent, each with its own users.
            The parts of a :class:`RatingDataset` are read by the agents; its model has no users
            until ``partial_fit`` or ``fold_in`` adds some.
        y : array-like, optional
            The ratings, if ``X`` holds only users and items.
        """
        table = self._source(X, y)
        parts = table.split(self.agents)
        formulation = self._formulation(table, len(parts))
        plan = Plan(
            n_items=len(table.items),
            rank=formulation.rank,
            network=as_network(self.network, len(parts)),
            method=formulation.method,
            seed=as_seed(self.random_state),
            first=self._first(table.items, formulation.rank),
        )
        problems, engine = formulation.problems(parts), as_engine(self.engine)
        result = run(plan, problems, engine=engine, observers=self._slot_observers())
        self._slots_done()
        if getattr(plan.method, "works_alone", False):  # gossip runs until its timetable ends
            warn_not_converged(result)
        shared = formulation.item_part(result, table)
        users = (
            None
            if isinstance(table, RatingDataset)
            else shared.users_from(table.users, table.ratings)
        )
        self._set_fitted(RatingsModel(shared, users), table, backend_of(X))
        set_run_attributes(self, result)
        self.n_agents_ = len(parts)
        return self

    def _source(self, X: Any, y: Any) -> RatingSource:
        if not isinstance(X, RatingDataset):
            return self._table(X, y, self.agents if isinstance(self.agents, str) else None)
        if y is not None:
            raise DataError("a RatingDataset reads its ratings from its files; leave y out.")
        return X

    def _first(self, items: Ids, rank: int) -> Array | None:
        """Return the subspace of the previous fit for a warm start."""
        if not self.warm_start or not hasattr(self, "model_"):
            return None
        before: Array = self.subspace_
        same = self.model_.shared.items.series.equals(items.series)
        if before.shape != (len(items), rank) or not same:
            raise DataError(
                "a warm start needs the items and the rank of the previous fit; "
                "set warm_start=False, or pass ratings of the same items."
            )
        return before


class MatrixCompleter(DecentralizedCompleter):
    """Learn from ratings that one or many hold, predict and recommend.

    With the default method what N agents learn is what one would learn from all ratings, and
    nothing but the rank is chosen.

    Parameters
    ----------
    rank : int or "auto"
        How many numbers describe an item; ``"auto"`` lets the agents choose on ratings that they
        hold out (methods ``"exact"`` and ``"exact-subspace"``).
    method : str
        ``"exact"``: biases and factors, by sums along a tree. ``"exact-subspace"``: the paper's
        formulation, by sums. ``"gossip"`` and its variants ``"stochastic"``,
        ``"precon-stochastic"``, ``"parallel"``, ``"precon-parallel"``; ``"tracked"``, ``"rextra"``:
        the paper's formulation by those methods.
    agents : int or str
        Among how many agents to divide the users; or the column of the table that names the owner
        of each rating. Ignored where a list of tables is given: each is an agent's; and of a
        :class:`RatingDataset`, which has its own agents, columns and rules.
    network : str or Network
        Who is linked to whom: ``"ring"``, ``"path"``, ``"star"``, ``"grid"``, ``"complete"``,
        ``"exponential"``, ``"random"``.
    regularization : float or "auto"
        Regularisation strength: μ of the model with biases, λ of the paper's formulation.
        ``"auto"`` is chosen on held-out ratings by the exact methods, and is the paper's 0.02 for
        the others.
    rho : float or "auto"
        For gossip: the weight of agreement; ``"auto"`` is a twentieth of the squares of an agent's
        centred ratings, so that it has their scale.
    max_iter : int
        For gossip: about how many updates each agent makes.
    user, item, rating : str, optional
        The columns of the table; found by their names unless given.
    duplicates : {"error", "mean", "last"}
        What to do with pairs that are rated twice.
    missing : {"error", "drop"}
        What to do with rows without a rating.
    scale : pair of floats, optional
        The least and greatest rating there can be; others are refused.
    on_unknown : {"raise", "nan", "fallback"}
        What predictions for unknown users or items are.
    engine : str or Engine
        Where agents run: ``"local"``, ``"threads"`` or ``"ray"``.
    warm_start : bool
        Begin the next fit at the subspace of the last; the items must be the same.
    random_state : int, RandomState or None
        Random seed; None draws another one at each fit.

    Attributes
    ----------
    model_ : RatingsModel
        What was learned.
    subspace_, subspaces_ : array, tuple of arrays
        The mean of the agents' subspaces, and each agent's.
    history_, agreement_, stop_reason_, messages_, bytes_, network_, n_iter_, n_agents_
        How it went; the agreement is the largest angle between two linked agents, in degrees.
    incidents_ : tuple of str
        What was lost on the way and done again, a sentence each.
    n_users_, n_items_, n_ratings_, rank_, assumed_, data_hash_
        What it was learned from, and sentences on what was assumed about the table. Of a
        :class:`RatingDataset` the hash is its digest, of what was counted.
    """

    def __init__(
        self,
        rank: int | Literal["auto"] = 10,
        *,
        method: str = "exact",
        agents: int | str = 1,
        network: str | Network = "ring",
        regularization: Regularization = "auto",
        rho: float | Literal["auto"] = "auto",
        max_iter: int = 400,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        duplicates: Duplicates = "error",
        missing: Missing = "error",
        scale: tuple[float, float] | None = None,
        on_unknown: OnUnknown = "raise",
        engine: str | Engine = "local",
        warm_start: bool = False,
        random_state: RandomState = 0,
    ):
        self.rank = rank
        self.method = method
        self.agents = agents
        self.network = network
        self.regularization = regularization
        self.rho = rho
        self.max_iter = max_iter
        self.user = user
        self.item = item
        self.rating = rating
        self.duplicates = duplicates
        self.missing = missing
        self.scale = scale
        self.on_unknown = on_unknown
        self.engine = engine
        self.warm_start = warm_start
        self.random_state = random_state

    def _formulation(self, table: RatingSource, n_agents: int) -> RatingsFormulation:
        name = one_of("method", self.method, METHODS)
        auto = self.rank == "auto"
        least = 0 if name == "exact" else 1
        rank = largest_rank(table) if auto else rank_of_items(self.rank, len(table.items), least)
        if name == "exact":
            return Biased(candidate_ranks(table) if auto else (rank,), self.regularization)
        if name == "exact-subspace" and self.regularization == "auto":
            return ValidatedSubspace(rank, any_rank=auto)
        if auto:
            raise PlanError(
                f"method {name!r} with a given regularization cannot choose the rank; use a number "
                "for ",
                Option("rank"),
                ", or ",
                Option("method", "exact"),
                ".",
            )
        regularization = (
            PAPER_REGULARIZATION if self.regularization == "auto" else self.regularization
        )
        real_number("regularization", regularization, least=0.0, below=1.0)
        if name == "exact-subspace":
            return Subspace(rank, regularization, table.mean())
        rho = scaled_rho(table, n_agents) if self.rho == "auto" else self.rho
        method = gossip_by_name(name, rho, self.max_iter, n_agents)
        return Subspace(rank, regularization, table.mean(), method)


def rank_of_items(rank: object, n_items: int, least: int = 1) -> int:
    """Return a rank that is at most the number of items."""
    why = f"the table has {n_items} items"
    return whole_number("rank", rank, least=least, most=n_items, why=why)
