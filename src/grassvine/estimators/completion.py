"""Ratings: complete a table that one or many hold, and recommend."""

from typing import Any, Literal, Self

from grassvine.baselines import DLMaFit, rtrmc, spectral_start
from grassvine.data import RatingTable
from grassvine.engines import Engine, run
from grassvine.estimators.callbacks import Watched, watched_fit
from grassvine.estimators.formulations import (
    PAPER_PENALTY,
    Penalty,
    Task,
    subspace,
    subspace_part,
    validated_subspace,
    with_offsets,
)
from grassvine.estimators.learned import keep_run
from grassvine.estimators.options import (
    GOSSIP,
    as_engine,
    as_network,
    as_seed,
    gossip_by_name,
    one_of,
)
from grassvine.estimators.rating_tables import parts_of
from grassvine.estimators.recommender import RatingsEstimator
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, PlanError
from grassvine.foundations.options import real_number, whole_number
from grassvine.gossip import Plan
from grassvine.models import CompletionPenalties, ItemPart
from grassvine.models.unknown import OnUnknown
from grassvine.network import Network
from grassvine.problems import CompletionProblem

METHODS = ("exact", "exact-subspace", *GOSSIP)


class _Together(Watched, RatingsEstimator):
    """An estimator whose ratings lie with several agents."""

    agents: int | str
    network: str | Network
    engine: str | Engine
    random_state: Any
    warm_start: bool

    def _task(self, parts: Any, n_agents: int) -> Task:
        raise NotImplementedError

    @watched_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from ratings; see :meth:`RatingsEstimator.fit`."""
        return super().fit(X, y)

    def _agent_column(self) -> str | None:
        return self.agents if isinstance(self.agents, str) else None

    def _learn(self, table: RatingTable) -> ItemPart:
        parts = parts_of(table, self.agents)
        task = self._task(parts, len(parts))
        plan = Plan(
            n_items=len(table.items),
            rank=task.rank,
            network=as_network(self.network, len(parts)),
            method=task.method,
            seed=as_seed(self.random_state),
            first=self._earlier(table, task.rank),
        )
        engine = as_engine(self.engine)
        result = run(plan, task.problems, engine=engine, observers=self._slot_observers())
        self._slots_done()
        keep_run(self, result)
        self.n_agents_ = len(parts)
        return task.read(result, table)

    def _earlier(self, table: RatingTable, rank: int) -> Array | None:
        """Return the subspace of an earlier fit, where a warm start is wished and possible."""
        if not self.warm_start or not hasattr(self, "model_"):
            return None
        before: Array = self.subspace_
        if before.shape != (len(table.items), rank) or not self.model_.shared.items.series.equals(
            table.items.series
        ):
            raise DataError(
                "a warm start needs the items and the rank of the earlier fit; "
                "set warm_start=False, or give ratings of the same items."
            )
        return before


class GossipCompleter(_Together):
    """Learn from ratings that one or many hold, predict and recommend.

    With the default method what N agents learn is what one would learn from all ratings, and
    nothing but the rank is chosen.

    Parameters
    ----------
    rank : int or "auto"
        How many numbers describe an item; ``"auto"`` lets the agents choose on ratings that they
        hold out (methods ``"exact"`` and ``"exact-subspace"``).
    method : str
        ``"exact"``: offsets, biases and factors, by sums along a tree. ``"exact-subspace"``: the
        paper's formulation, by sums. ``"gossip"`` and its variants ``"stochastic"``,
        ``"precon-stochastic"``, ``"parallel"``, ``"precon-parallel"``; ``"tracked"``, ``"rextra"``:
        the paper's formulation by those methods.
    agents : int or str
        Among how many agents to divide the users; or the column of the table that names the owner
        of each rating. Ignored where a list of tables is given: each is an agent's.
    network : str or Network
        Who is linked to whom: ``"ring"``, ``"path"``, ``"star"``, ``"grid"``, ``"complete"``,
        ``"exponential"``, ``"random"``.
    penalty : float or "auto"
        How strongly the fit is pulled to simple answers: μ of the model with offsets, λ of the
        paper's formulation. ``"auto"`` is chosen on held-out ratings by the exact methods, and is
        the paper's 0.02 by the others.
    rho, updates : float, int
        For gossip: the weight of agreement, and about how many updates an agent makes.
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
        Where agents run: ``"local"``, ``"threads"``.
    warm_start : bool
        Begin the next fit at the subspace of the last; the items must be the same.
    random_state : int, RandomState or None
        From it all chance is drawn.

    Attributes
    ----------
    model_ : RatingsModel
        What was learned.
    subspace_, subspaces_ : array, tuple of arrays
        The mean of the agents' subspaces, and each agent's.
    history_, agreement_, stopped_because_, messages_, bytes_, network_, n_iter_, n_agents_
        How it went; the agreement is the largest angle between two linked agents, in degrees.
    n_users_, n_items_, n_ratings_, rank_, assumed_, data_hash_
        What it was learned from, and sentences on what was assumed about the table.
    """

    def __init__(
        self,
        rank: int | Literal["auto"] = 10,
        *,
        method: str = "exact",
        agents: int | str = 1,
        network: str | Network = "ring",
        penalty: Penalty = "auto",
        rho: float = 1e4,
        updates: int = 400,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        duplicates: str = "error",
        missing: str = "error",
        scale: tuple[float, float] | None = None,
        on_unknown: OnUnknown = "raise",
        engine: str | Engine = "local",
        warm_start: bool = False,
        random_state: Any = None,
    ):
        self.rank = rank
        self.method = method
        self.agents = agents
        self.network = network
        self.penalty = penalty
        self.rho = rho
        self.updates = updates
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

    def _task(self, parts: Any, n_agents: int) -> Task:
        name = one_of("method", self.method, METHODS)
        rank = None if self.rank == "auto" else _rank(self.rank, parts[0].n_items)
        if name == "exact":
            return with_offsets(parts, rank, self.penalty)
        if name == "exact-subspace" and self.penalty == "auto":
            return validated_subspace(parts, rank)
        if rank is None:
            raise PlanError(
                f"method {name!r} with a penalty of its own cannot choose the rank; give a number, "
                "or use method='exact' or 'exact-subspace' with penalty='auto'."
            )
        penalty = PAPER_PENALTY if self.penalty == "auto" else self.penalty
        real_number("penalty", penalty, least=0.0, below=1.0)
        if name == "exact-subspace":
            return subspace(parts, rank, penalty)
        method = gossip_by_name(name, self.rho, self.updates, n_agents)
        return subspace(parts, rank, penalty, method)


class DLMaFitCompleter(_Together):
    """D-LMaFit (Lin and Ling), the paper's rival, with the surface of :class:`GossipCompleter`.

    Parameters
    ----------
    rank : int
        How many numbers describe an item.
    iterations : int
        How long to run; every agent hears all its neighbours at each.
    most_omega : float
        How far the extrapolation may grow; 1 keeps it at 1.

    The others are those of :class:`GossipCompleter`.
    """

    def __init__(
        self,
        rank: int = 10,
        *,
        iterations: int = 400,
        most_omega: float = 12.0,
        agents: int | str = 2,
        network: str | Network = "ring",
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        duplicates: str = "error",
        missing: str = "error",
        scale: tuple[float, float] | None = None,
        on_unknown: OnUnknown = "raise",
        engine: str | Engine = "local",
        warm_start: bool = False,
        random_state: Any = None,
    ):
        self.rank = rank
        self.iterations = iterations
        self.most_omega = most_omega
        self.agents = agents
        self.network = network
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

    def _task(self, parts: Any, n_agents: int) -> Task:
        rank = _rank(self.rank, parts[0].n_items)
        return subspace(parts, rank, 0.0, DLMaFit(self.iterations, self.most_omega))


class RTRMCCompleter(RatingsEstimator):
    """RTRMC (Boumal and Absil): all ratings in one place, a trust region on the manifold.

    Parameters
    ----------
    rank : int
        How many numbers describe an item.
    penalty : float
        λ of the paper's formulation.

    The others are those of :class:`GossipCompleter`.
    """

    def __init__(
        self,
        rank: int = 10,
        *,
        penalty: float = PAPER_PENALTY,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        duplicates: str = "error",
        missing: str = "error",
        scale: tuple[float, float] | None = None,
        on_unknown: OnUnknown = "raise",
        random_state: Any = None,
    ):
        self.rank = rank
        self.penalty = penalty
        self.user = user
        self.item = item
        self.rating = rating
        self.duplicates = duplicates
        self.missing = missing
        self.scale = scale
        self.on_unknown = on_unknown
        self.random_state = random_state

    def _learn(self, table: RatingTable) -> ItemPart:
        rank = _rank(self.rank, len(table.items))
        penalty = real_number("penalty", self.penalty, least=0.0, below=1.0)
        centre = float(table.ratings.values.mean())
        problem = CompletionProblem(table.ratings.shifted(-centre), unobserved=penalty)
        start = spectral_start(problem.ratings, rank, seed=as_seed(self.random_state))
        result = rtrmc(problem, start)
        self.subspace_ = result.basis
        self.n_iter_ = len(result.iterations)
        self.stopped_because_ = result.stopped_because
        return subspace_part(table, result.basis, centre, CompletionPenalties(penalty))


def _rank(rank: object, n_items: int) -> int:
    why = f"the table has {n_items} items"
    return whole_number("rank", rank, least=1, most=n_items, why=why)
