"""Matrix completion of ratings that are divided among agents."""

from typing import Any, Literal, Self

from grassvine.data import Ids
from grassvine.data.stored import RatingDataset
from grassvine.data.tables.conversion import backend_of
from grassvine.data.tables.rating_input import Missing
from grassvine.data.tables.rating_rules import RatingRules
from grassvine.data.tables.rating_table import Duplicates, SharedUsers
from grassvine.engines import Engine
from grassvine.estimators.callbacks import CallbackSupport, fit_with_callbacks
from grassvine.estimators.random_state import RandomState, as_seed
from grassvine.estimators.recommender import RatingsEstimator
from grassvine.fits.options import Rho, as_engine
from grassvine.fits.rating_formulations import (
    RatingsFormulation,
    RatingSource,
    Regularization,
    rating_formulation,
)
from grassvine.fits.ratings import fit_ratings
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.models.unknown import OnUnknown
from grassvine.networks import Network


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
        """Fit the model to ratings.

        Parameters
        ----------
        X : data frame, path, SciPy matrix, array, dict, list of data frames, RatingTable or \
                RatingDataset
            - A data frame (pandas, pyarrow or polars, eager or lazy) with one row per rating, or
              with one row per user and one column per item (:mod:`grassvine.data.tables.wide`
              describes how they are distinguished).
            - A file that :func:`grassvine.datasets.read_ratings` reads.
            - A sparse or dense matrix with one row per user and one column per item; NaN entries
              of a dense matrix are unknown.
            - A dict ``{user: {item: rating}}``.
            - With ``y``: a frame or array with a user, an item and optionally an owner per row.
            - A list with one data frame per agent.
            - A :class:`RatingDataset`, whose parts are read by the agents. The fitted model then
              has no users until ``partial_fit`` adds some.
        y : array-like of shape (n_ratings,), optional
            The ratings, if ``X`` contains only users and items.
        """
        table = self._source(X, y)
        parts = table.split(self.agents)
        formulation = self._formulation(table, len(parts))
        observers = (*self._slot_observers(), *self._user_observers(formulation.method))
        fitted = fit_ratings(
            table,
            parts,
            formulation,
            network=self.network,
            seed=as_seed(self.random_state),
            engine=as_engine(self.engine),
            observers=observers,
            initial_basis=self._first(table.items, formulation.rank),
        )
        self._slots_done()
        self._set_fitted(fitted.model, table, backend_of(X), fitted.run)
        self.n_agents_, self.choices_run_ = len(parts), fitted.choices_run
        return self

    def _rules(self) -> RatingRules:
        return RatingRules(self.duplicates, self.missing, self.scale, self.shared_users)

    def _source(self, X: Any, y: Any) -> RatingSource:
        if not isinstance(X, RatingDataset):
            return self._table(X, y, self.agents if isinstance(self.agents, str) else None)
        if y is not None:
            raise DataError("a RatingDataset reads its ratings from its files; omit y.")
        return X

    def _first(self, items: Ids, rank: int) -> Array | None:
        """Return the subspace of the previous fit for a warm start."""
        if not self.warm_start or not hasattr(self, "model_") or not self.model_.shared.rank:
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
    """Matrix completion of ratings that are divided among agents.

    With the default method, all agents obtain the model that a single owner of all ratings would
    fit, up to rounding errors, and nothing has to be chosen.

    Parameters
    ----------
    rank : int, "auto" or None, default=None
        Number of factors per item. None chooses it by the size of the table for method ``"bayes"``
        (ratings / (2·(users + items)), at most 40), and is 10 for all others. ``"auto"`` lets the
        agents choose it on ratings that they hold out (methods ``"bayes"``, ``"map"`` and
        ``"exact-subspace"`` only). 0 is the model of the biases alone (``"bayes"``, ``"map"``).
    method : str, default="bayes"
        ``"bayes"``: item biases, user biases and factors by variational Bayes. All variances are
        learned, and predictions have standard deviations. ``"map"``: item biases, user biases and
        factors that maximise the posterior for one regularisation strength. Both are fitted by sums
        over all agents. All other methods fit the paper's formulation, without biases:
        ``"exact-subspace"`` by sums, ``"gossip"`` or one of its variants ``"precon-stochastic"``,
        ``"stochastic"``, ``"precon-parallel"``, ``"parallel"`` by pairwise exchanges, and
        ``"tracked"`` or ``"rextra"`` by averaging with neighbours.
    agents : int or str, default=1
        Number of agents, among which the users are divided in equal parts; or the column of the
        table that names the owner of each rating. Ignored if ``fit`` gets a list of tables, one per
        agent, or a :class:`RatingDataset`, which defines its own agents, columns and rules.
    network : str or Network, default="ring"
        Name of a topology (``"ring"``, ``"path"``, ``"star"``, ``"grid"``, ``"complete"``,
        ``"exponential"``, ``"random"``), or a network of the given number of agents.
    regularization : float or "auto", default="auto"
        Regularisation strength: μ of method ``"map"``, λ in [0, 1) of the paper's formulation. With
        ``"auto"``, the exact methods choose it on held-out ratings; the others use 0.02. Method
        ``"bayes"`` has none.
    rho : float or "auto", default="auto"
        For gossip: constant consensus weight ρ, with random starting points, as in the paper. With
        ``"auto"``, ρ is scaled to the sum of squared centred ratings; in addition, method
        ``"gossip"`` lets ρ grow during the run and starts all agents at one point, so that they
        reach consensus.
    max_iter : int, default=400
        For methods other than the exact ones: approximate number of updates per agent. With more
        than 8 agents, method ``"gossip"`` with ``rho="auto"`` makes N/8 times as many, because
        consensus takes longer on a larger network.
    learn_choices : bool, default=True
        Whether the agents also learn what users choose to rate, by which ``recommend`` ranks items
        by default (methods ``"bayes"`` and ``"map"``); it takes at most 20 more sums. If the items
        that users rated could have been drawn at random, ``recommend`` ranks by rating.
    user, item, rating : str, optional
        Columns of the table; found by name if omitted.
    duplicates : {"error", "mean", "last"}, default="error"
        How to treat several ratings of one item by one user: raise an error, take their mean, or
        take the latest (the last row if there is no column of times).
    missing : {"error", "drop"}, default="error"
        How to treat rows without a rating.
    scale : (low, high), optional
        Lowest and highest valid rating; ratings outside raise an error.
    shared_users : {"separate", "error"}, default="separate"
        How to treat a user id with ratings of several owners: as a separate user of each owner,
        identified by id and owner in predictions, or as an error.
    on_unknown : {"warn", "fallback", "nan", "raise"}, default="warn"
        How to treat unknown users and items in predictions. ``"fallback"`` predicts from the known
        biases and recommends the most rated items; ``"warn"`` does the same with one warning that
        counts them; ``"nan"`` returns NaN; ``"raise"`` raises an error.
    engine : {"local", "threads", "ray"} or Engine, default="local"
        Engine that runs the agents.
    warm_start : bool, default=False
        Whether to start from the subspace of the previous fit, which must have the same items and
        rank.
    random_state : int, RandomState or None, default=0
        Random seed; None draws a new one at each fit.
    verbose : int, default=0
        If 1, print a line per ten updates; if 2 or more, per update.

    Attributes
    ----------
    model_ : RatingsModel
        The fitted model: the shared item part and, unless the ratings stayed in files, the private
        user part.
    subspace_ : array of shape (n_items, rank)
        Orthonormal basis of the mean of the agents' subspaces; ``subspaces_`` has that of each
        agent. With methods ``"bayes"`` and ``"map"`` it spans the item factors.
    rank_ : int
        Number of factors per item.
    agreement_ : float
        Largest distance between the subspaces of two neighbours: the root of the sum of squared
        principal angles, in degrees.
    history_, network_, stop_reason_, n_iter_, messages_, bytes_, n_agents_
        Properties of the run.
    choices_run_ : Run or None
        The run in which the agents learned what users choose.
    incidents_ : tuple of str
        Failures during the run that were recovered from, one sentence each.
    recovered_ : bool or None
        Method ``"exact-subspace"`` with ``regularization=0``: whether the table, without noise, is
        certified to be recovered; None otherwise.
    n_users_, n_items_, n_ratings_ : int
        Numbers of users, items and ratings in the training data.
    assumed_ : tuple of str
        Assumptions made about the table, one sentence each.
    data_hash_ : str
        SHA-256 of the training data; for a :class:`RatingDataset`, of its summary.
    validation_path_ : dict of arrays or None
        The candidates that ``"auto"`` evaluated, in this order: ``rank``, ``regularization``,
        ``bias_regularization``, the held-out ``rmse``, ``n_sums`` (the number of sums so far) and
        ``chosen`` (0 or 1).

    Examples
    --------
    >>> import polars as pl
    >>> from grassvine import MatrixCompleter
    >>> ratings = pl.DataFrame(
    ...     {
    ...         "user": ["anna", "anna", "ben", "ben", "cleo", "cleo"],
    ...         "item": ["Up", "Alien", "Up", "Alien", "Up", "Jaws"],
    ...         "rating": [5, 2, 4, 1, 5, 3],
    ...         "shop": ["north", "north", "south", "south", "south", "south"],
    ...     }
    ... )
    >>> model = MatrixCompleter(rank=1, agents="shop").fit(ratings)
    >>> found = model.predict(["anna"], ["Jaws"], return_interval=0.9)
    >>> bool(found["lower"][0] <= found["rating"][0] <= found["upper"][0])
    True
    >>> model.recommend(["anna"], k=1)["item"].to_list()
    ['Jaws']
    """

    def __init__(
        self,
        rank: int | Literal["auto"] | None = None,
        *,
        method: str = "bayes",
        agents: int | str = 1,
        network: str | Network = "ring",
        regularization: Regularization = "auto",
        rho: Rho = "auto",
        max_iter: int = 400,
        learn_choices: bool = True,
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
        self.learn_choices = learn_choices
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
        return rating_formulation(self, table, n_agents)
