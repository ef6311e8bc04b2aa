"""Recommendations from what users choose: clicks, purchases, plays."""

import os
from collections.abc import Mapping
from typing import Any, Literal, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from grassvine.data.stored import RatingDataset
from grassvine.data.tables.conversion import backend_of, has_column, to_backend
from grassvine.data.tables.event_input import EventColumns, as_event_table
from grassvine.data.tables.event_table import EventTable
from grassvine.data.tables.rating_input import Missing
from grassvine.data.tables.rating_table import SharedUsers
from grassvine.data.tables.titles import Titles, with_titles
from grassvine.datasets import read_events
from grassvine.engines import Engine
from grassvine.estimators.callbacks import CallbackSupport, fit_with_callbacks
from grassvine.estimators.fitted import set_run_attributes
from grassvine.estimators.persistence import PersistentEstimator
from grassvine.estimators.random_state import RandomState, as_seed
from grassvine.fits.events import (
    EventSource,
    fit_events,
    identified_users,
    rank_and_method,
    with_events,
)
from grassvine.fits.options import as_engine
from grassvine.foundations.errors import DataError
from grassvine.models import RankingModel
from grassvine.models.ranking.measures import RankingMeasures, measure_ranking
from grassvine.models.ranking.model import Explanation
from grassvine.models.unknown import OnUnknown
from grassvine.networks import Network

NEW_USER = "new"  # the id of a user whose events are passed to fold_in without one


class ImplicitRecommender(CallbackSupport, PersistentEstimator, BaseEstimator):  # type: ignore[misc]
    """Recommendations from events (clicks, purchases, plays) that are divided among agents.

    All agents obtain the model that a single owner of all events would fit, up to rounding errors.
    Nothing has to be chosen: rank and regularisation follow the size and the density of the table.

    Parameters
    ----------
    rank : int or "auto", default="auto"
        Number of factors per item.
    method : {"factors", "ease"}, default="factors"
        ``"factors"``: item factors and popularity, in at most 20 sums. ``"ease"``: a regression of
        each item on all others, in one sum of items·(items+1)/2 numbers; for at most 5,000 items.
    unobserved : float or "auto", default="auto"
        Weight of a pair without an event, in units of the density of the table; factors only.
    regularization : float or "auto", default="auto"
        Regularisation strength: of factors in units of noise, for ``"ease"`` λ.
    agents : int or str, default=1
        Number of agents, among which the users are divided in equal parts; or the column of the
        table that names the owner of each event. Ignored if ``fit`` gets a list of tables, one per
        agent, or a :class:`RatingDataset`, which defines its own agents.
    network : str or Network, default="ring"
        Name of a topology (``"ring"``, ``"path"``, ``"star"``, ``"grid"``, ``"complete"``,
        ``"exponential"``, ``"random"``), or a network of the given number of agents.
    user, item, count, time : str, optional
        Columns of the table; found by name if omitted. Without a column of counts, every row counts
        once. Times are used by splits only.
    missing : {"error", "drop"}, default="error"
        How to treat rows without a count.
    shared_users : {"separate", "error"}, default="separate"
        How to treat a user id with events of several owners: as a separate user of each owner, or
        as an error.
    on_unknown : {"warn", "fallback", "nan", "raise"}, default="warn"
        What to recommend to unknown users. ``"fallback"``: the items that most users chose;
        ``"warn"``: the same with one warning; ``"nan"``: nothing; ``"raise"`` raises an error.
    engine : {"local", "threads", "ray"} or Engine, default="local"
        Engine that runs the agents.
    random_state : int, RandomState or None, default=0
        Random seed; None draws a new one at each fit.
    verbose : int, default=0
        If 1, print a line per ten updates; if 2 or more, per update.

    Attributes
    ----------
    model_ : RankingModel
        The fitted model: the shared part and, unless the events stayed in files, the private one.
    rank_ : int
        Number of factors per item; 0 for ``"ease"``.
    agreement_, history_, network_, stop_reason_, n_iter_, messages_, bytes_, incidents_, n_agents_
        Properties of the run.
    n_users_, n_items_, n_events_ : int
        Numbers of users, items and pairs with events in the training data.
    assumed_ : tuple of str
        Assumptions made about the table, one sentence each.
    data_hash_ : str
        SHA-256 of the training data; for a :class:`RatingDataset`, of its summary.

    Examples
    --------
    >>> import polars as pl
    >>> from grassvine import ImplicitRecommender
    >>> clicks = pl.DataFrame(
    ...     {
    ...         "user": ["anna", "anna", "ben", "ben", "cleo", "cleo"],
    ...         "item": ["lamp", "desk", "lamp", "desk", "desk", "chair"],
    ...         "shop": ["north", "north", "south", "south", "south", "south"],
    ...     }
    ... )
    >>> model = ImplicitRecommender(rank=1, agents="shop").fit(clicks)
    >>> model.recommend(["anna"], k=1)["item"].to_list()
    ['chair']
    """

    _model_type = RankingModel

    def __init__(
        self,
        rank: int | Literal["auto"] = "auto",
        *,
        method: str = "factors",
        unobserved: float | Literal["auto"] = "auto",
        regularization: float | Literal["auto"] = "auto",
        agents: int | str = 1,
        network: str | Network = "ring",
        user: str | None = None,
        item: str | None = None,
        count: str | None = None,
        time: str | None = None,
        missing: Missing = "error",
        shared_users: SharedUsers = "separate",
        on_unknown: OnUnknown = "warn",
        engine: str | Engine = "local",
        random_state: RandomState = 0,
        verbose: int = 0,
    ):
        self.rank = rank
        self.method = method
        self.unobserved = unobserved
        self.regularization = regularization
        self.agents = agents
        self.network = network
        self.user = user
        self.item = item
        self.count = count
        self.time = time
        self.missing = missing
        self.shared_users = shared_users
        self.on_unknown = on_unknown
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    @fit_with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model to events.

        Parameters
        ----------
        X : data frame, path, SciPy matrix, array, dict, list of data frames, EventTable or \
                RatingDataset
            - A data frame with one row per event: a user, an item and optionally a count, a time
              and an owner. Repeated events are added up.
            - A file that :func:`grassvine.datasets.read_events` reads.
            - A sparse or dense matrix of counts with one row per user and one column per item.
            - A dict ``{user: {item: count}}`` or ``{user: [item, …]}``.
            - With ``y``: a frame or array with a user and an item per row.
            - A list with one data frame per agent.
            - A :class:`RatingDataset` made by ``of_events``, whose parts are read by the agents.
              The model then has no users until ``partial_fit`` adds some.
        y : array-like of shape (n_events,), optional
            The counts, if ``X`` contains only users and items.
        """
        table = self._source(X, y)
        parts = table.split(self.agents)
        rank, method = rank_and_method(self, table)
        fitted = fit_events(
            table,
            parts,
            rank,
            method,
            network=self.network,
            seed=as_seed(self.random_state),
            engine=as_engine(self.engine),
            observers=(*self._slot_observers(), *self._user_observers(method)),
        )
        self._slots_done()
        set_run_attributes(self, fitted.run)
        self.model_ = fitted.model
        self.assumed_, self.data_hash_ = table.assumed, table.digest()
        self.n_users_, self.n_items_ = table.n_users, len(table.items)
        self.n_events_, self.n_agents_ = table.n_ratings, len(parts)
        self.rank_, self.backend_ = self.model_.shared.scorer.rank, backend_of(X)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add new users, and further events of known users, whose counts are added up.

        Items that the model does not know get factors from these events; all others stay the same.
        With method ``"ease"``, they are left out with a warning.

        Parameters
        ----------
        X, y
            Events, as in ``fit``.
        """
        check_is_fitted(self, "model_")
        table = self._table(X, y, self._owner_column(X))
        self.model_ = with_events(self.model_, table)
        return self

    def recommend(
        self,
        users: Any = None,
        k: int = 10,
        *,
        exclude_seen: bool = True,
        exclude: Any = None,
        candidates: Any = None,
        min_users: int = 1,
        owners: Any = None,
        titles: Titles | None = None,
    ) -> Any:
        """Return the k items with the highest scores for each user.

        Parameters
        ----------
        users : list, array or series of ids, optional
            By default, all users of the model.
        k : int, default=10
            Maximum number of items per user.
        exclude_seen : bool, default=True
            Whether to exclude items that the user has chosen before.
        exclude, candidates : list, array or series of item ids, optional
            Items to leave out, and the only items to choose from.
        min_users : int, default=1
            Leave out items that fewer users have chosen.
        owners : list, array or series of ids, optional
            The owner of each user; needed for user ids that several owners have.
        titles : data frame, path or dict, optional
            Ids of items and their titles, for a column ``title``.

        Returns
        -------
        data frame
            The columns are user, item, score, rank (from 1) and known, and owner after user if
            several owners have users of the same id.
        """
        check_is_fitted(self, "model_")
        found = self.model_.recommend(
            users,
            k,
            exclude_seen=exclude_seen,
            exclude=exclude,
            candidates=candidates,
            min_users=min_users,
            on_unknown=self.on_unknown,
            owners=owners,
        )
        return to_backend(with_titles(found, titles), self.backend_)

    def explain(self, user: Any, item: Any, *, owner: Any = None) -> Explanation:
        """Return what each of the user's own events adds to the score of an item.

        ``score`` is ``popularity`` plus the sum of the column ``share`` of ``shares``.
        """
        check_is_fitted(self, "model_")
        return self.model_.explain(user, item, owner=owner)

    def similar_items(self, item: Any, k: int = 10, *, titles: Titles | None = None) -> Any:
        """Return the k items most similar to an item: item, similarity and rank (from 1)."""
        check_is_fitted(self, "model_")
        return to_backend(with_titles(self.model_.similar_items(item, k), titles), self.backend_)

    def fold_in(self, events: Any) -> RankingModel:
        """Return a model of new users only, without refitting.

        Parameters
        ----------
        events : as ``X`` in ``fit``, or dict or list
            ``{user: {item: count}}`` or ``{user: [item, …]}``; or ``{item: count}`` or
            ``[item, …]`` of one user, whose id is ``"new"``.
        """
        check_is_fitted(self, "model_")
        table = self._table(_of_one_user(events), None, self._owner_column(events))
        users = identified_users(self.model_, table)
        return self.model_.fold_in(users, table.items, table.ratings).model

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean nDCG@100 over users of held-out events; see :meth:`measure`."""
        return self.measure(X, y, k=100).mean("ndcg")

    def measure(self, X: Any, y: Any = None, *, k: int = 100) -> RankingMeasures:
        """Return how the recommendations rank events that were not fitted.

        Parameters
        ----------
        X, y
            Held-out events, as in ``fit``. Their users must be known to the model. Items that a
            user has chosen before are not ranked.
        k : int, default=100
            The number of places.
        """
        check_is_fitted(self, "model_")
        table = self._table(X, y, self._owner_column(X))
        users = identified_users(self.model_, table)
        return measure_ranking(self.model_, users, table.items, table.ratings, k)

    def _source(self, X: Any, y: Any) -> EventSource:
        if not isinstance(X, RatingDataset):
            return self._table(X, y, self.agents if isinstance(self.agents, str) else None)
        if y is not None:
            raise DataError("a RatingDataset reads its events from its files; omit y.")
        if not all(part.rules.events for part in X.parts):
            raise DataError(
                "the RatingDataset is of ratings; create it by RatingDataset.of_events, which "
                "counts each of them as an event."
            )
        return X

    def _table(self, X: Any, y: Any = None, agent: str | None = None) -> EventTable:
        columns = EventColumns(self.user, self.item, self.count, self.time)
        options = {"missing": self.missing, "shared_users": self.shared_users}
        if isinstance(X, str | os.PathLike):
            if y is not None:
                raise DataError(f"the events are read from {os.fspath(X)}; omit y.")
            return read_events(X, columns=columns, agent=agent, **options)  # type: ignore[arg-type]
        return as_event_table(X, y, columns, agent, **options)  # type: ignore[arg-type]

    def _owner_column(self, X: Any) -> str | None:
        """Return the column of owners, if the estimator names one and the frame has it."""
        column = self.agents
        return column if isinstance(column, str) and has_column(X, column) else None

    def _take(self, model: RankingModel, *, named: bool = False) -> None:
        """Set the fitted attributes from a saved model."""
        self.model_ = model
        self.rank_ = model.shared.scorer.rank
        self.backend_ = "polars"

    def __sklearn_tags__(self) -> Any:
        """Declare that ids may be strings and that ``y`` is optional."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags


def _of_one_user(events: Any) -> Any:
    """Return {item: count} or [item, …] as the events of one new user; others as they are."""
    if isinstance(events, Mapping):
        own = events.values()
        alone = not any(isinstance(one, Mapping | list | tuple) for one in own)
        return {NEW_USER: events} if alone else events
    if isinstance(events, list | tuple) and not any(hasattr(one, "shape") for one in events):
        return {NEW_USER: list(events)}
    return events
