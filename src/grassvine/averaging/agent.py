"""Agent for averaging programs: it exchanges arrays with all neighbours at every slot."""

import math
from collections.abc import Iterable, Sequence
from zlib import crc32

import numpy as np

from grassvine.averaging.program import FRAME, Exchange, Inbox, Program, ProgramOutcome
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import MessageError
from grassvine.geometry import Grassmann
from grassvine.problems.base import Evaluation, LocalProblem
from grassvine.protocol.agent import State
from grassvine.protocol.message import Message, Shapes
from grassvine.protocol.report import StepReport
from grassvine.protocol.restore import as_counts, checked_arrays, require_equal_state


class NeighbourAgent:
    """An agent that runs a program and sends the same message to all neighbours at every slot.

    All agents run the same program in lockstep, so all messages of a slot have the same shapes.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.averaging import DeEPCA
    >>> plan = gv.Plan(2, 1, gv.networks.path(2), DeEPCA())
    >>> agent = plan.agent(0, gv.PCAProblem([[1.0, 0.0], [-1.0, 0.0]]))  # as an engine creates it
    >>> type(agent).__name__, agent.id
    ('NeighbourAgent', 0)
    """

    def __init__(self, number: int, problem: LocalProblem, program: Program):
        self._id = number
        self._problem = problem
        self._program = program
        self._finished = ""
        self._last_inbox: Inbox = {}
        self._n_exchanges = self._checksum = 0
        self._farthest = (-1, math.nan)  # the farthest neighbour and its distance
        with one_blas_thread():
            self._exchange = next(program)

    @property
    def id(self) -> int:
        """The agent's number."""
        return self._id

    def precompute(self, slot: int) -> None:
        """Return None: there is nothing to compute before messages arrive."""

    def outgoing(self, slot: int) -> Message:
        """Return the program's message; empty after its end."""
        return Message(self._id, slot, self._exchange.arrays)

    def expected(self, slot: int) -> Shapes:
        """Return the names and shapes of its own arrays."""
        return {name: array.shape for name, array in self._exchange.arrays.items()}

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        """Advance the program by one exchange."""
        arrived = {message.sender: message.arrays for message in inbox}
        iterate = self._exchange.iterate
        self._advance(arrived)
        return StepReport(
            agent=self._id,
            slot=slot,
            update=iterate.updates,
            cost=iterate.evaluation.cost,
            mse=self._mse(iterate.evaluation),
            gradient_norm=iterate.gradient_norm,
            neighbour=self._farthest[0],
            distance=self._farthest[1],
            step=iterate.step,
            messages=len(inbox),
            bytes=sum(message.nbytes for message in inbox),
            finished=self._finished,
        )

    def conclude(self, slot: int) -> StepReport:
        """Evaluate the problem at the final basis."""
        evaluation = self._problem.evaluate(self._exchange.iterate.basis)
        return StepReport(
            agent=self._id,
            slot=slot,
            update=self._exchange.iterate.updates,
            cost=evaluation.cost,
            mse=self._mse(evaluation),
            gradient_norm=self._exchange.iterate.gradient_norm,
        )

    def state(self) -> State:
        """Return the basis and the number of updates."""
        updates = np.array([self._exchange.iterate.updates], dtype=np.int64)
        return {"basis": self._exchange.iterate.basis, "updates": updates}

    def log_entry(self) -> State:
        """Return the senders of the last meeting and their arrays, stacked under their names."""
        if not self._last_inbox:
            return {}
        names = next(iter(self._last_inbox.values()))
        stacked = {
            name: np.stack([arrays[name] for arrays in self._last_inbox.values()]) for name in names
        }
        return {"senders": np.array(list(self._last_inbox), dtype=np.int64), **stacked}

    def snapshot(self) -> State:
        """Return the state and a checksum of all messages received."""
        return {**self.state(), "checksum": np.array([self._checksum], dtype=np.int64)}

    def restore(self, log_entries: Iterable[State], snapshot: State) -> None:
        """Replay the received messages.

        All computations are repeated, including the passes over the data: the agent's messages
        depend on their results, which are not logged.
        """
        with one_blas_thread():
            for log_entry in log_entries:
                if log_entry:
                    self._replay(log_entry)
        what, reached = f"the snapshot of agent {self._id}", self.snapshot()
        shapes = {name: array.shape for name, array in reached.items()}
        require_equal_state(checked_arrays(snapshot, shapes, what), reached, what)

    def _replay(self, log_entry: State) -> None:
        what = f"log entry {self._n_exchanges} of agent {self._id}"
        arrived = self._inbox_of(log_entry, what)
        try:
            self._advance(arrived)
        except Exception as cause:  # for example a sender that the network does not have
            raise MessageError(
                f"the program cannot replay {what} ({cause}); "
                "pass the log entries of the same agent and plan."
            ) from cause

    def _advance(self, arrived: Inbox) -> None:
        """Advance the program, unless it has ended, and record the farthest neighbour."""
        self._last_inbox = {}
        if not self._finished:
            self._find_farthest(arrived)
            self._resume(arrived)
            self._last_inbox = arrived
            self._n_exchanges += 1
            for sender, arrays in arrived.items():
                for name, array in arrays.items():
                    header = f"{sender} {name} {array.shape}".encode()
                    self._checksum = crc32(array.tobytes(), crc32(header, self._checksum))

    def _resume(self, arrived: Inbox) -> None:
        try:
            self._exchange = self._program.send(arrived)
        except StopIteration as end:
            ending: ProgramOutcome = end.value
            self._exchange, self._finished = Exchange({}, ending.iterate), ending.reason

    def _find_farthest(self, arrived: Inbox) -> None:
        """Find the neighbour with the farthest subspace; the first one until frames are known."""
        arrays = self._exchange.arrays
        if self._farthest[0] < 0:
            self._farthest = (min(arrived), math.nan)
        if FRAME in arrays and self._exchange.fresh:
            own = np.linalg.qr(arrays[FRAME])[0]
            self._farthest = max(
                (
                    (sender, Grassmann().distance(own, np.linalg.qr(other[FRAME])[0]))
                    for sender, other in arrived.items()
                ),
                key=lambda pair: pair[1],
            )

    def _inbox_of(self, log_entry: State, what: str) -> Inbox:
        count = np.size(log_entry.get("senders", ()))
        shapes = {name: (count, *shape) for name, shape in self.expected(self._n_exchanges).items()}
        arrays = checked_arrays(log_entry, {"senders": (count,), **shapes}, what)
        senders = as_counts(arrays["senders"], what)
        if senders != sorted(set(senders)):
            raise MessageError(
                f"the senders of {what} are {senders}; pass each once, in ascending order."
            )
        return {
            sender: {name: arrays[name][place].copy() for name in shapes}
            for place, sender in enumerate(senders)
        }

    def _mse(self, evaluation: Evaluation) -> float:
        count = self._problem.n_values
        return evaluation.squared_error / count if count else math.nan
