"""Baselines for ratings, with the interface of :class:`MatrixCompleter`."""

from typing import Any, Self

from grassvine.baselines import DLMaFit, rtrmc, spectral_start
from grassvine.data.tables.conversion import backend_of
from grassvine.data.tables.rating_input import Missing
from grassvine.data.tables.rating_table import Duplicates, SharedUsers
from grassvine.engines import Engine
from grassvine.estimators.completion import DecentralizedCompleter
from grassvine.estimators.random_state import RandomState, as_seed
from grassvine.estimators.recommender import RatingsEstimator
from grassvine.fits.rating_formulations import (
    PAPER_REGULARIZATION,
    RatingsFormulation,
    RatingSource,
    rank_of_items,
    subspace,
    subspace_part,
)
from grassvine.foundations.options import real_number
from grassvine.models import RatingsModel
from grassvine.models.unknown import OnUnknown
from grassvine.networks import Network
from grassvine.problems import CompletionProblem


class DLMaFitCompleter(DecentralizedCompleter):
    """D-LMaFit (Lin and Ling), a decentralised baseline for :class:`MatrixCompleter`.

    The other parameters and the attributes are those of :class:`MatrixCompleter`.

    Parameters
    ----------
    rank : int, default=10
        Number of factors per item.
    max_iter : int, default=400
        Number of iterations; in each, every agent exchanges messages with all its neighbours.
    max_omega : float, default=12.0
        Upper bound on the extrapolation weight ω; 1 disables extrapolation.
    agents : int or str, default=2
        Number of agents, or the column of the table that names the owner of each rating.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> from grassvine.estimators import DLMaFitCompleter
    >>> data = gv.datasets.low_rank_ratings(20, 150, rank=2, oversampling=5.0).ratings
    >>> table = {"user": data.users_of_values(), "item": data.items, "rating": data.values}
    >>> completer = DLMaFitCompleter(rank=3, agents=3, max_iter=60).fit(pl.DataFrame(table))
    >>> completer.n_agents_
    3
    """

    def __init__(
        self,
        rank: int = 10,
        *,
        max_iter: int = 400,
        max_omega: float = 12.0,
        agents: int | str = 2,
        network: str | Network = "ring",
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
        self.max_iter = max_iter
        self.max_omega = max_omega
        self.agents = agents
        self.network = network
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
        rank = rank_of_items(self.rank, len(table.items))
        return subspace(rank, 0.0, table.mean(), DLMaFit(self.max_iter, self.max_omega))


class RTRMCCompleter(RatingsEstimator):
    """RTRMC (Boumal and Absil): a Riemannian trust-region method on pooled ratings.

    The other parameters are those of :class:`MatrixCompleter`.

    Parameters
    ----------
    rank : int, default=10
        Number of factors per item.
    regularization : float, default=0.02
        λ in [0, 1) of the paper's formulation.

    Attributes
    ----------
    model_ : RatingsModel
        The fitted model.
    subspace_ : array of shape (n_items, rank)
        Orthonormal basis of the subspace.
    n_iter_ : int
        Number of trust-region iterations.
    stop_reason_ : str
        Why the iteration stopped.
    n_users_, n_items_, n_ratings_, rank_, assumed_, data_hash_
        As in :class:`MatrixCompleter`.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> from grassvine.estimators import RTRMCCompleter
    >>> data = gv.datasets.low_rank_ratings(20, 150, rank=2, oversampling=5.0).ratings
    >>> table = {"user": data.users_of_values(), "item": data.items, "rating": data.values}
    >>> RTRMCCompleter(rank=3).fit(pl.DataFrame(table)).model_.shared.rank
    3
    """

    def __init__(
        self,
        rank: int = 10,
        *,
        regularization: float = PAPER_REGULARIZATION,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        duplicates: Duplicates = "error",
        missing: Missing = "error",
        scale: tuple[float, float] | None = None,
        on_unknown: OnUnknown = "warn",
        random_state: RandomState = 0,
    ):
        self.rank = rank
        self.regularization = regularization
        self.user = user
        self.item = item
        self.rating = rating
        self.duplicates = duplicates
        self.missing = missing
        self.scale = scale
        self.on_unknown = on_unknown
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model; the parameters are those of :meth:`MatrixCompleter.fit`."""
        table = self._table(X, y)
        rank = rank_of_items(self.rank, len(table.items))
        regularization = real_number("regularization", self.regularization, least=0.0, below=1.0)
        centre = table.mean()
        problem = CompletionProblem(table.ratings.shifted(-centre), unobserved=regularization)
        start = spectral_start(problem.ratings, rank, seed=as_seed(self.random_state))
        result = rtrmc(problem, start)
        self.subspace_ = result.basis
        self.n_iter_ = len(result.iterations)
        self.stop_reason_ = result.stop_reason
        shared = subspace_part(table, result.basis, centre, regularization)
        users = shared.users_from(table.users, table.ratings)
        self._set_fitted(RatingsModel(shared, users), table, backend_of(X))
        return self
