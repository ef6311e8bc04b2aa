"""The gossip agent."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import MessageError
from grassvine.geometry import Geometry
from grassvine.gossip.step import gossip_step
from grassvine.problems.base import Evaluation, LocalProblem
from grassvine.protocol.agent import State
from grassvine.protocol.message import Message, Shapes
from grassvine.protocol.report import StepReport
from grassvine.protocol.restore import as_counts, checked_arrays, refuse_log_entries

if TYPE_CHECKING:
    from grassvine.gossip.method import Gossip


class GossipAgent:
    """An agent of the gossip method; its state is a basis and an update count.

    Examples
    --------
    >>> import grassvine as gv
    >>> data = gv.datasets.low_rank_ratings(30, 300, rank=2, oversampling=5.0)
    >>> plan = gv.Plan(30, 2, gv.networks.path(2), gv.Gossip())
    >>> agent = plan.agent(0, gv.CompletionProblem(data.ratings))  # as an engine creates it
    >>> type(agent).__name__, agent.outgoing(0).arrays["basis"].shape
    ('GossipAgent', (30, 2))
    """

    def __init__(
        self,
        number: int,
        problem: LocalProblem,
        start: Array,
        degree: int,
        method: "Gossip",
        geometry: Geometry,
    ):
        self._id = number
        self._problem = problem
        self._basis = start
        self._degree = degree
        self._method = method
        self._geometry = geometry
        self._updates = 0

    @property
    def id(self) -> int:
        """The agent's number."""
        return self._id

    def precompute(self, slot: int) -> None:
        """Return None: there is nothing to compute before messages arrive."""

    def outgoing(self, slot: int) -> Message:
        """Return a message with the basis."""
        return Message(self._id, slot, {"basis": self._basis})

    def expected(self, slot: int) -> Shapes:
        """Return the name and shape of a basis."""
        n_items, rank = self._basis.shape
        return {"basis": (n_items, rank)}

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        """Evaluate the problem once and take a gossip step."""
        neighbours = [self._point_of(message) for message in inbox]
        evaluation = self._problem.evaluate(self._basis)
        move = gossip_step(
            self._geometry,
            self._method,
            self._basis,
            evaluation,
            neighbours,
            degree=self._degree,
            slot=self._updates if self._method.clock == "own" else slot,
        )
        farthest = max(range(len(inbox)), key=move.distances.__getitem__)
        report = StepReport(
            agent=self._id,
            slot=slot,
            update=self._updates,
            cost=evaluation.cost,
            mse=self._mse(evaluation),
            gradient_norm=move.gradient_norm,
            neighbour=inbox[farthest].sender,
            distance=move.distances[farthest],
            step=move.step,
            messages=len(inbox),
            bytes=sum(message.nbytes for message in inbox),
        )
        self._basis = move.point
        self._updates += 1
        return report

    def conclude(self, slot: int) -> StepReport:
        """Evaluate the problem at the final basis."""
        evaluation = self._problem.evaluate(self._basis)
        gradient = self._geometry.project(self._basis, evaluation.gradient)
        return StepReport(
            agent=self._id,
            slot=slot,
            update=self._updates,
            cost=evaluation.cost,
            mse=self._mse(evaluation),
            gradient_norm=float(np.linalg.norm(gradient)),
        )

    def state(self) -> State:
        """Return the basis and the number of updates."""
        return {"basis": self._basis, "updates": np.array([self._updates], dtype=np.int64)}

    def log_entry(self) -> State:
        """Return an empty entry: the snapshot is the complete state."""
        return {}

    def snapshot(self) -> State:
        """Return the state, which is complete."""
        return self.state()

    def restore(self, log_entries: Iterable[State], snapshot: State) -> None:
        """Restore the basis and the number of updates."""
        refuse_log_entries(log_entries, self._id)
        what = f"the snapshot of agent {self._id}"
        n_items, rank = self._basis.shape
        arrays = checked_arrays(snapshot, {"basis": (n_items, rank), "updates": (1,)}, what)
        self._basis = self._geometry.as_point(
            arrays["basis"],
            n_items=n_items,
            rank=rank,
            name=f"'basis' in {what}",
            error=MessageError,
        )
        (self._updates,) = as_counts(arrays["updates"], what)

    def _point_of(self, message: Message) -> Array:
        n_items, rank = self._basis.shape
        return self._geometry.as_point(
            message.arrays["basis"],
            n_items=n_items,
            rank=rank,
            name=f"the basis that agent {message.sender} sent at slot {message.slot}",
            error=MessageError,
        )

    def _mse(self, evaluation: Evaluation) -> float:
        count = self._problem.n_values
        return evaluation.squared_error / count if count else math.nan
