"""Ratings: complete a table that one or many hold, and recommend."""

from typing import Literal

from grassvine.data.tables.rating_input import Missing
from grassvine.data.tables.rating_table import Duplicates
from grassvine.engines import Engine
from grassvine.estimators.distributed import DistributedCompleter, rank_of_items
from grassvine.estimators.options import GOSSIP, RandomState, gossip_by_name, one_of
from grassvine.estimators.rating_models import (
    PAPER_REGULARIZATION,
    Regularization,
    Task,
    biased_factors,
    scaled_rho,
    subspace,
    validated_subspace,
)
from grassvine.estimators.ratings_summary import RatingsSummary
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import real_number
from grassvine.models.unknown import OnUnknown
from grassvine.networks import Network

METHODS = ("exact", "exact-subspace", *GOSSIP)


class MatrixCompleter(DistributedCompleter):
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

    def _task(self, summary: RatingsSummary) -> Task:
        name = one_of("method", self.method, METHODS)
        rank = None if self.rank == "auto" else rank_of_items(self.rank, len(summary.items))
        if name == "exact":
            return biased_factors(summary, rank, self.regularization)
        if name == "exact-subspace" and self.regularization == "auto":
            return validated_subspace(summary, rank)
        if rank is None:
            raise PlanError(
                f"method {name!r} with a given regularization cannot choose the rank; give a "
                "number, or use method='exact' or 'exact-subspace' with regularization='auto'."
            )
        regularization = (
            PAPER_REGULARIZATION if self.regularization == "auto" else self.regularization
        )
        real_number("regularization", regularization, least=0.0, below=1.0)
        if name == "exact-subspace":
            return subspace(summary, rank, regularization)
        rho = scaled_rho(summary) if self.rho == "auto" else self.rho
        method = gossip_by_name(name, rho, self.max_iter, summary.n_agents)
        return subspace(summary, rank, regularization, method)
