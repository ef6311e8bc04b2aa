r"""D-LMaFit: matrix completion by successive over-relaxation and dynamic average consensus.

Q. Ling, Y. Xu, W. Yin, Z. Wen (2012); A.-Y. Lin, Q. Ling (2015). Implemented from the papers. Agent
i holds X_i (items×rank), its estimate of the common factor, and Y_i (rank×users). An iteration is

.. math::

    S_i &= P_Ω(D_i − X_iY_i) \\
    A_i &= X_i(Y_iY_iᵀ) + ω_iS_iY_iᵀ, \qquad B_i = Y_iY_iᵀ \\
    P_i &← Σ_j m_{ij}(P_j + A_j − A_j^{old}), \qquad Q_i ← Σ_j m_{ij}(Q_j + B_j − B_j^{old}) \\
    X_i &← P_iQ_i^{-1}, \qquad Y_i ← (X_iᵀX_i)^{-1}(X_iᵀX_i^{old}Y_i + ω_iX_iᵀS_i)

with Metropolis weights m_ij = 1/(1 + max(degree_i, degree_j)). The averages of P and Q remain those
of A and B, which determine X in the pooled method. The change of A is added *before* mixing: added
afterwards, differences between agents would persist and eventually grow (docs/decisions/0004).
ω_i is the extrapolation weight: it starts at 1, grows by the rule of LMaFit while the agent's
residual falls slowly, and returns to 1 when the residual rises. With ω = 1 (``max_omega=1``) tables
of 200 × 400, rank 5, take 282 to 446 iterations to a relative residual of 1e-4; with ω, 54 to 78.
A single agent has nothing to mix and runs LMaFit itself (Z. Wen, W. Yin, Y. Zhang 2012).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from grassvine.data import Ratings
from grassvine.foundations.arrays import Array, as_matrix
from grassvine.foundations.errors import MessageError, PlanError
from grassvine.foundations.options import real_number, whole_number
from grassvine.geometry import Grassmann
from grassvine.networks.graph import Network
from grassvine.networks.mixing import Mixing, plain_mixing
from grassvine.networks.schedule import AllEdges
from grassvine.networks.timetable import Timetable
from grassvine.problems.base import Problem, plain_ratings
from grassvine.protocol.agent import State
from grassvine.protocol.message import Message, Shapes
from grassvine.protocol.method import Setup
from grassvine.protocol.report import StepReport
from grassvine.protocol.restore import as_counts, checked_arrays, refuse_log_entries

# P (items×rank) and Q (rank×rank).
Trackers = tuple[Array, Array]

# A residual that falls below this fraction in one iteration falls fast enough to keep ω.
FAST_RATIO = 0.7


@dataclass(frozen=True, slots=True)
class DLMaFit:
    """Options of D-LMaFit.

    Parameters
    ----------
    max_iter : int, default=400
        Number of iterations; every agent moves at every slot.
    max_omega : float, default=12.0
        Upper bound on the extrapolation weight ω; 1 disables extrapolation.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.averaging import DLMaFit
    >>> data = gv.datasets.low_rank_ratings(30, 300, rank=2, oversampling=5.0)
    >>> parts = gv.datasets.split_users(data.ratings, 4)
    >>> plan = gv.Plan(30, 2, gv.networks.ring(4), DLMaFit(max_iter=60))
    >>> result = gv.run(plan, [gv.CompletionProblem(part) for part in parts])
    >>> bool(result.history.final()["mse"].max() < 1e-3)
    True
    """

    works_alone: ClassVar[bool] = True
    has_stopping_rule: ClassVar[bool] = False

    max_iter: int = 400
    max_omega: float = 12.0

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("max_iter", self.max_iter, least=0)
        real_number("max_omega", self.max_omega, least=1.0)

    def check_network(self, network: Network) -> None:
        """Check the size of the timetable."""
        AllEdges().check(network, self.max_iter)

    def timetable(self, network: Network, rng: Generator) -> Timetable:
        """Schedule exchanges over all links at every slot; a single agent sends to itself."""
        if network.n_agents == 1:
            return Timetable.from_deliveries(1, [[(0, 0)]] * self.max_iter)
        return AllEdges().draw(network, self.max_iter, rng)

    def agent(self, plan: Setup, number: int, problem: Problem) -> "DLMaFitAgent":
        """Return the agent for a problem."""
        ratings = plain_ratings(problem)
        if ratings is None:
            raise PlanError(
                f"agent {number} has no plain completion problem, and D-LMaFit solves no other "
                "kind; pass CompletionProblem(ratings) without regularisation, or use Gossip."
            )
        if not isinstance(plan.geometry, Grassmann):
            raise PlanError(
                "D-LMaFit compares agents by the subspaces that their factors span; "
                "use the plan's default geometry, Grassmann()."
            )
        mixing = plain_mixing(plan.network)
        return DLMaFitAgent(number, ratings, plan.start(number), mixing, self.max_omega)


class DLMaFitAgent:
    """An agent of D-LMaFit.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.averaging import DLMaFit
    >>> data = gv.datasets.low_rank_ratings(30, 300, rank=2, oversampling=5.0)
    >>> plan = gv.Plan(30, 2, gv.networks.path(2), DLMaFit())
    >>> agent = plan.agent(0, gv.CompletionProblem(data.ratings))  # as an engine creates it
    >>> type(agent).__name__, agent.id
    ('DLMaFitAgent', 0)
    """

    def __init__(
        self,
        number: int,
        ratings: Ratings,
        start: Array,
        mixing: Mixing,
        max_omega: float,
    ):
        self._id = number
        self._ratings = ratings
        self._users = ratings.users_of_values()
        self._mixing = mixing
        self._max_omega = max_omega
        self._omega, self._growth = 1.0, 1.0
        self._factor = start
        self._coordinates = np.ascontiguousarray((self._sparse(ratings.values) @ start).T)
        self._residual = self._compute_residual()
        self._own = self._contribution()
        self._tracked = self._own
        self._updates = 0

    @property
    def id(self) -> int:
        """The agent's number."""
        return self._id

    def precompute(self, slot: int) -> None:
        """Return None: there is nothing to compute before messages arrive."""

    def outgoing(self, slot: int) -> Message:
        """Return a message with both trackers."""
        products, gram = self._tracked
        return Message(self._id, slot, {"products": products, "gram": gram})

    def expected(self, slot: int) -> Shapes:
        """Return the names and shapes of both trackers."""
        n_items, rank = self._factor.shape
        return {"products": (n_items, rank), "gram": (rank, rank)}

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        """Mix the trackers with those of the neighbours, then update both factors."""
        others = [message for message in inbox if message.sender != self._id]
        arrived = {message.sender: self._trackers_of(message) for message in others}
        distances = {
            sender: _subspace_distance(self._tracked[0], products)
            for sender, (products, _) in arrived.items()
        }
        farthest = max(distances, key=distances.__getitem__, default=self._id)
        report = StepReport(
            **self._status(slot),
            neighbour=farthest,
            distance=distances.get(farthest, 0.0),
            step=self._omega,
            messages=len(others),
            bytes=sum(message.nbytes for message in others),
        )
        self._update_factors(self._mix(arrived))
        self._updates += 1
        return report

    def conclude(self, slot: int) -> StepReport:
        """Report the residual after the last update."""
        return StepReport(**self._status(slot))

    def state(self) -> State:
        """Return an orthonormal basis of the factor and the number of updates."""
        basis = np.linalg.qr(self._factor)[0]
        return {"basis": basis, "updates": np.array([self._updates], dtype=np.int64)}

    def log_entry(self) -> State:
        """Return an empty entry: the snapshot is the complete state."""
        return {}

    def snapshot(self) -> State:
        """Return X, Y, (P, Q), (A, B), ω with its growth, and the number of updates."""
        return {
            "factor": self._factor,
            "coordinates": self._coordinates,
            "products": self._tracked[0],
            "gram": self._tracked[1],
            "own_products": self._own[0],
            "own_gram": self._own[1],
            "extrapolation": np.array([self._omega, self._growth]),
            "updates": np.array([self._updates], dtype=np.int64),
        }

    def restore(self, log_entries: Iterable[State], snapshot: State) -> None:
        """Restore the state; the residual is recomputed, to the same bits."""
        refuse_log_entries(log_entries, self._id)
        what = f"the snapshot of agent {self._id}"
        shapes = {name: array.shape for name, array in self.snapshot().items()}
        arrays = checked_arrays(snapshot, shapes, what)
        self._factor, self._coordinates = arrays["factor"], arrays["coordinates"]
        self._tracked = arrays["products"], arrays["gram"]
        self._own = arrays["own_products"], arrays["own_gram"]
        self._omega, self._growth = arrays["extrapolation"].tolist()
        (self._updates,) = as_counts(arrays["updates"], what)
        self._residual = self._compute_residual()

    def _mix(self, arrived: Mapping[int, Trackers]) -> Trackers:
        products, gram = (
            self._mixing.average(
                self._id, self._tracked[which], {who: sent[which] for who, sent in arrived.items()}
            )
            for which in (0, 1)
        )
        return products, gram

    def _update_factors(self, mixed: Trackers) -> None:
        before = float(np.linalg.norm(self._residual))
        old = self._factor
        new = np.ascontiguousarray(_solve(mixed[1].T, mixed[0].T).T)
        correction = self._omega * (self._sparse(self._residual) @ new).T
        self._coordinates = _solve(new.T @ new, (new.T @ old) @ self._coordinates + correction)
        self._factor = new
        self._residual = self._compute_residual()
        self._extrapolate(float(np.linalg.norm(self._residual)) / before if before else 0.0)
        own = self._contribution()
        self._tracked = (mixed[0] + own[0] - self._own[0], mixed[1] + own[1] - self._own[1])
        self._own = own

    def _extrapolate(self, ratio: float) -> None:
        """Increase ω while the residual falls slowly; reset it to 1 when the residual rises."""
        if ratio >= 1.0:
            self._growth = max(0.1 * (self._omega - 1.0), 0.1)
            self._omega = 1.0
        elif ratio > FAST_RATIO:
            self._growth = max(self._growth, 0.25 * (self._omega - 1.0))
            self._omega = min(self._omega + self._growth, self._max_omega)

    def _contribution(self) -> Trackers:
        """Return A and B."""
        gram = self._coordinates @ self._coordinates.T
        products = self._factor @ gram + self._omega * self._negative_gradient()
        return np.ascontiguousarray(products), gram

    def _negative_gradient(self) -> Array:
        """Return SYᵀ, the negative gradient of ½‖S‖² with respect to X."""
        return self._sparse(self._residual).T @ self._coordinates.T

    def _compute_residual(self) -> Array:
        """Return D − XY at the known entries."""
        residual = self._ratings.values.copy()
        for column, row in zip(self._factor.T, self._coordinates, strict=True):
            residual -= column[self._ratings.items] * row[self._users]
        return residual

    def _sparse(self, values: Array) -> Any:
        """Return values at the known entries as a sparse users×items matrix."""
        from scipy.sparse import csr_array  # slow to import, and only D-LMaFit needs it

        ratings = self._ratings
        shape = (ratings.n_users, ratings.n_items)
        return csr_array((values, ratings.items, ratings.starts), shape=shape)

    def _trackers_of(self, message: Message) -> Trackers:
        n_items, rank = self._factor.shape
        where = f"that agent {message.sender} sent at slot {message.slot}"
        return (
            as_matrix(
                message.arrays["products"],
                n_items=n_items,
                rank=rank,
                name=f"the products {where}",
                error=MessageError,
            ),
            as_matrix(
                message.arrays["gram"],
                n_items=rank,
                rank=rank,
                name=f"the Gram matrix {where}",
                error=MessageError,
            ),
        )

    def _status(self, slot: int) -> dict[str, Any]:
        squares = float(self._residual @ self._residual)
        count = self._ratings.n_values
        return {
            "agent": self._id,
            "slot": slot,
            "update": self._updates,
            "cost": 0.5 * squares,
            "mse": squares / count if count else math.nan,
            "gradient_norm": float(np.linalg.norm(self._negative_gradient())),
        }


def _subspace_distance(one: Array, other: Array) -> float:
    return Grassmann().distance(np.linalg.qr(one)[0], np.linalg.qr(other)[0])


def _solve(matrix: Array, right: Array) -> Array:
    # Least squares: the Gram matrix of an agent with fewer users than the rank is singular.
    return np.linalg.lstsq(matrix, right, rcond=None)[0].astype(np.float64, copy=False)
