"""The rivals on ratings, with the surface of :class:`MatrixCompleter`."""

from typing import Any, Self

from grassvine.baselines import DLMaFit, rtrmc, spectral_start
from grassvine.data.tables.conversion import backend_of
from grassvine.data.tables.rating_input import Missing
from grassvine.data.tables.rating_table import Duplicates, SharedUsers
from grassvine.engines import Engine
from grassvine.estimators.completion import DecentralizedCompleter, rank_of_items
from grassvine.estimators.options import RandomState, as_seed
from grassvine.estimators.rating_models import (
    PAPER_REGULARIZATION,
    RatingsFormulation,
    RatingSource,
    subspace,
    subspace_part,
)
from grassvine.estimators.recommender import RatingsEstimator
from grassvine.foundations.options import real_number
from grassvine.models import RatingsModel
from grassvine.models.unknown import OnUnknown
from grassvine.networks import Network
from grassvine.problems import CompletionProblem


class DLMaFitCompleter(DecentralizedCompleter):
    """D-LMaFit (Lin and Ling), the paper's rival, with the surface of :class:`MatrixCompleter`.

    Parameters
    ----------
    rank : int
        How many numbers describe an item.
    max_iter : int
        Number of iterations; in each, every agent hears all its neighbours.
    max_omega : float
        How far the extrapolation may grow; 1 keeps it at 1.

    The others are those of :class:`MatrixCompleter`.
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
    """RTRMC (Boumal and Absil): all ratings in one place, a trust region on the manifold.

    Parameters
    ----------
    rank : int
        How many numbers describe an item.
    regularization : float
        λ of the paper's formulation.

    The others are those of :class:`MatrixCompleter`.
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
        """Learn from ratings; the arguments are those of :meth:`MatrixCompleter.fit`."""
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
