"""Matrix completion: learn from ratings that one or many parties hold, predict and recommend."""

from typing import Any, Literal, Self

from grassvine.averaging import REXTRA, Tracked
from grassvine.data import Ids
from grassvine.data.stored import RatingDataset
from grassvine.data.tables.conversion import backend_of
from grassvine.data.tables.rating_input import Missing
from grassvine.data.tables.rating_rules import RatingRules
from grassvine.data.tables.rating_table import Duplicates, SharedUsers
from grassvine.engines import Engine
from grassvine.estimators.callbacks import CallbackSupport, fit_with_callbacks
from grassvine.estimators.fitted import (
    warn_apart,
    warn_not_converged,
)
from grassvine.estimators.options import (
    GOSSIP,
    RandomState,
    Rho,
    as_engine,
    as_network,
    as_seed,
    gossip_by_name,
)
from grassvine.estimators.rating_models import (
    PAPER_REGULARIZATION,
    RatingsFormulation,
    RatingSource,
    Regularization,
    biased,
    candidate_ranks,
    largest_rank,
    subspace,
    validated_subspace,
)
from grassvine.estimators.recommender import RatingsEstimator
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, Option, PlanError
from grassvine.foundations.options import one_of, real_number, whole_number
from grassvine.gossip import Gossip
from grassvine.models import RatingsModel
from grassvine.models.unknown import OnUnknown
from grassvine.networks import Network
from grassvine.runs import Plan, run

METHODS = ("exact", "exact-subspace", *GOSSIP)
# Constant ρ of the paper's variants, as a share of the squared centred ratings of an agent: 1e4 for
# MovieLens-1M divided among 5 agents, which was chosen there on held-out ratings.
CONSENSUS_SHARE = 0.05


class DecentralizedCompleter(CallbackSupport, RatingsEstimator):
    """Base class of estimators whose ratings are held by several agents."""

    agents: int | str
    network: str | Network
    engine: str | Engine
    random_state: RandomState
    warm_start: bool
    shared_users: SharedUsers

    def _formulation(self, table: RatingSource, n_agents: int) -> RatingsFormulation:
        raise NotImplementedError

    @fit_with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        X : data frame, path, SciPy matrix, array, dict, list of data frames, RatingTable or \
                RatingDataset
            A frame (pandas, polars, also lazy, pyarrow) with one row per rating, or with one row
            per user and one column per item (:mod:`grassvine.data.tables.wide` has the rule); a
            file that :func:`grassvine.datasets.read_ratings` reads; a matrix with one row per user
            and one column per item, where NaN is unknown in a dense one; ``{user: {item:
            rating}}``; or, with ``y``, a user, an item and perhaps an owner per row. A list has one
            frame per agent.
            The parts of a :class:`RatingDataset` are read by the agents; its model has no users
            until ``partial_fit`` or ``fold_in`` adds some.
        y : array-like, optional
            The ratings, if ``X`` holds only users and items.
        """
        table = self._source(X, y)
        parts, backend = table.split(self.agents), backend_of(X)
        formulation = self._formulation(table, len(parts))
        method, rank = formulation.method, formulation.rank
        first, seed = self._first(table.items, rank), as_seed(self.random_state)
        engine = as_engine(self.engine)
        observers = (*self._slot_observers(), *self._user_observers(method))
        network = as_network(self.network, len(parts), method)
        problems = formulation.problems(parts)
        plan = Plan(len(table.items), rank, network, method, seed=seed, first=first)
        result = run(plan, problems, engine=engine, observers=observers)
        self._slots_done()
        if getattr(method, "works_alone", False):  # gossip runs until its timetable ends
            warn_not_converged(result)
        elif isinstance(method, Gossip | Tracked | REXTRA):
            warn_apart(result, problems)
        shared = formulation.item_part(result, table)
        users = (
            None
            if isinstance(table, RatingDataset)
            else shared.users_from(table.users, table.ratings)
        )
        self._set_fitted(RatingsModel(shared, users), table, backend, result)
        self.n_agents_ = len(parts)
        return self

    def _rules(self) -> RatingRules:
        return RatingRules(self.duplicates, self.missing, self.scale, self.shared_users)

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
        of each rating, also if the ratings are passed as ``y``. Ignored where a list of tables is
        given: each is an agent's; and of a :class:`RatingDataset`, which has its own agents,
        columns and rules.
    network : str or Network
        Who is linked to whom: ``"ring"``, ``"path"``, ``"star"``, ``"grid"``, ``"complete"``,
        ``"exponential"``, ``"random"``.
    regularization : float or "auto"
        Regularisation strength: μ of the model with biases, λ of the paper's formulation.
        ``"auto"`` is chosen on held-out ratings by the exact methods, and is the paper's 0.02 for
        the others.
    rho : float or "auto"
        For gossip: the weight of agreement. With ``"auto"`` it has the scale of the squared centred
        ratings; method ``"gossip"`` then lets it grow during the run and starts all agents at one
        point, so that they agree. A number is constant, and agents start at points of their own,
        as in the paper; so do its variants.
    max_iter : int
        For gossip: about how many updates each agent makes; N/8 times as many among N > 8 agents if
        method ``"gossip"`` lets ρ grow, since a longer network needs more.
    user, item, rating : str, optional
        The columns of the table; found by their names unless given.
    duplicates : {"error", "mean", "last"}
        What to do with pairs that are rated twice.
    missing : {"error", "drop"}
        What to do with rows without a rating.
    scale : pair of floats, optional
        The least and greatest rating there can be; others are refused.
    shared_users : {"separate", "error"}
        What to do with a user id that has ratings with several owners: take it for a separate user
        of each, who is identified by id and owner in predictions, or refuse it.
    on_unknown : {"warn", "fallback", "nan", "raise"}
        What predictions for unknown users or items are; ``"fallback"`` takes the known biases, or
        the most rated items, and ``"warn"`` does the same with one warning that counts them.
    engine : str or Engine
        Where agents run: ``"local"``, ``"threads"`` or ``"ray"``.
    warm_start : bool
        Begin the next fit at the subspace of the last; the items must be the same.
    random_state : int, RandomState or None
        Random seed; None draws another one at each fit.
    verbose : int, default=0
        If 1, print a line per ten updates; if 2 or more, per update.

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
    validation_path_ : dict of arrays or None
        The candidates of ``"auto"`` in the order of their evaluation: ``rank``,
        ``regularization``, ``bias_regularization``, the held-out ``rmse``, ``n_sums`` (sums up to
        there) and ``chosen`` (0 or 1).
    """

    def __init__(
        self,
        rank: int | Literal["auto"] = 10,
        *,
        method: str = "exact",
        agents: int | str = 1,
        network: str | Network = "ring",
        regularization: Regularization = "auto",
        rho: Rho = "auto",
        max_iter: int = 400,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        duplicates: Duplicates = "error",
        missing: Missing = "error",
        scale: tuple[float, float] | None = None,
        shared_users: SharedUsers = "separate",
        on_unknown: OnUnknown = "warn",
        engine: str | Engine = "local",
        warm_start: bool = False,
        random_state: RandomState = 0,
        verbose: int = 0,
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
        self.shared_users = shared_users
        self.on_unknown = on_unknown
        self.engine = engine
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _formulation(self, table: RatingSource, n_agents: int) -> RatingsFormulation:
        name = one_of("method", self.method, METHODS)
        auto = self.rank == "auto"
        least = 0 if name == "exact" else 1
        rank = largest_rank(table) if auto else rank_of_items(self.rank, len(table.items), least)
        if name == "exact":
            return biased(candidate_ranks(table) if auto else (rank,), self.regularization)
        if name == "exact-subspace" and self.regularization == "auto":
            return validated_subspace(rank, any_rank=auto)
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
            return subspace(rank, regularization, table.mean())
        method = gossip_by_name(
            name,
            self.rho,
            self.max_iter,
            n_agents,
            squares=table.squares(table.mean()),
            share=CONSENSUS_SHARE,
        )
        return subspace(rank, regularization, table.mean(), method)


def rank_of_items(rank: object, n_items: int, least: int = 1) -> int:
    """Return a rank that is at most the number of items."""
    why = f"the table has {n_items} items"
    return whole_number("rank", rank, least=least, most=n_items, why=why)
