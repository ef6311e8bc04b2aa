"""Agent for programs over sums, which are added up along a spanning tree."""

import math
from collections.abc import Callable, Iterable, Sequence
from zlib import crc32

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import MessageError
from grassvine.networks.tree import Tree
from grassvine.problems.base import Problem
from grassvine.protocol.agent import State
from grassvine.protocol.message import SAME_PLAN, Message, Shapes
from grassvine.protocol.report import StepReport
from grassvine.protocol.restore import checked_arrays, require_equal_state
from grassvine.sums.decisions import Decisions, packed, unpacked
from grassvine.sums.program import (
    Part,
    Program,
    ProgramOutcome,
    first_part,
    flat,
    kind_of,
    next_part,
    shaped,
)
from grassvine.sums.progress import PREFIX
from grassvine.sums.summation import Addends, PlainSummation, Summation


class SumAgent:
    """An agent that runs a program and adds up its sums along a spanning tree.

    A total is forwarded before the part of the next sum is computed, so all agents compute their
    parts at the same time, whatever the tree.

    The root evaluates the decisions of the program and sends them down with the total that they
    follow; all others take them from there. Each partial sum comes with a checksum of all totals
    and decisions before, by which a parent finds out which of its children strayed.

    A sum takes one round along the tree, or as many as its :class:`Summation` asks for.

    An agent is restored by sending its program the logged totals and decisions again; only the part
    of the current sum is recomputed. The checksum verifies them, because their expected shapes are
    known only after computing the parts.

    Examples
    --------
    >>> import grassvine as gv
    >>> plan = gv.Plan(2, 1, gv.networks.path(2), gv.Exact())
    >>> agent = plan.agent(0, gv.PCAProblem([[1.0, 0.1], [-1.0, 0.0]]))  # as an engine creates it
    >>> type(agent).__name__, agent.id
    ('SumAgent', 0)
    """

    def __init__(self, number: int, problem: Problem, program: Program, tree: Tree):
        self._id = number
        self._problem = problem
        self._program = program
        self._route = tree.routes[number]
        self._summation: Summation = PlainSummation()
        self._updates = 0
        self._checksum = 0
        self._finished = ""
        self._total: Addends = np.zeros(0)
        self._decisions = packed([])
        self._log_entry: State = {}
        self._mse = math.nan  # at the last point that this agent evaluated and the program took
        with one_blas_thread():
            part = first_part(program)
        self._iterate = part.iterate
        self._pending: Part | None = part  # of the current sum
        self._part: Addends = np.zeros(0)
        self._partial = self._part
        self._shapes: list[tuple[int, ...]] = []

    def add_up_by(self, summation: Summation) -> None:
        """Choose how parts are added up, before slot 0; by default as they are."""
        assert not self._updates and self._pending is not None, "the run has begun"
        self._summation = summation

    @property
    def id(self) -> int:
        """The agent's number."""
        return self._id

    def outgoing(self, slot: int) -> Message:
        """Return the partial sum on the way up or the total on the way down; empty at the end."""
        if self._upward(slot):
            self._compute_part()
            checksum = np.array([self._checksum], dtype=np.float64)
            return Message(self._id, slot, {"sum": self._partial, "checksum": checksum})
        total = self._total
        if self._finished and slot >= self._route.n_slots * self._summation.n_rounds:
            self._compute_part()
            total = self._part  # empty
        return Message(self._id, slot, {"sum": total, "decisions": self._decisions})

    def expected(self, slot: int) -> Shapes:
        """Return the shapes of a partial sum or total and of what comes with it."""
        self._compute_part()
        shape = self._summation.shape(self._part)
        if self._upward(slot):
            return {"sum": shape, "checksum": (1,)}
        return {"sum": shape, "decisions": self._decisions.shape}

    def _upward(self, slot: int) -> bool:
        return slot % self._route.n_slots < self._route.n_upward

    def precompute(self, slot: int) -> Callable[[], None] | None:
        """Return the computation of its part, unless the last total is still to be forwarded."""
        rounds_before = self._summation.n_rounds - 1
        forwarded = self._route.n_slots * rounds_before + self._route.sends_down
        return self._compute_part if self._pending and slot > forwarded else None

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        """Add the children's partial sums, or advance the program with the total.

        A single agent receives its own part, which is the total.
        """
        self._compute_part()
        others = [message for message in inbox if message.sender != self._id]
        self._log_entry = {}
        if not self._finished:
            if inbox[0].sender == self._route.parent:
                given = unpacked(inbox[0].arrays["decisions"], self._route.parent)
                self._receive_sum(inbox[0].arrays["sum"], given)
            else:
                if others:
                    self._add(others)
                if self._route.parent < 0:
                    self._receive_sum(self._partial)
        return StepReport(
            agent=self._id,
            slot=slot,
            update=self._updates,
            cost=self._iterate.cost,
            mse=self._mse if self._iterate.mse is None else self._iterate.mse,
            gradient_norm=self._iterate.gradient_norm,
            neighbour=inbox[0].sender,
            distance=0.0,
            messages=len(others),
            bytes=sum(message.nbytes for message in others),
            finished=self._finished,
            share=1.0 if self._finished else self._iterate.share,
        )

    def conclude(self, slot: int) -> StepReport:
        """Evaluate the fitted model on the agent's own data."""
        cost, squared_error = self._iterate.fit_to(self._problem)
        count = self._problem.n_values
        return StepReport(
            agent=self._id,
            slot=slot,
            update=self._updates,
            cost=cost,
            mse=squared_error / count if count else math.nan,
            gradient_norm=self._iterate.gradient_norm,
        )

    def state(self) -> State:
        """Return the arrays of the model, the candidates validated, and the number of sums."""
        candidates = {f"{PREFIX}{name}": one for name, one in self._iterate.candidates.items()}
        updates = np.array([self._updates], dtype=np.int64)
        return {**self._iterate.arrays(), **candidates, "updates": updates}

    def log_entry(self) -> State:
        """Return the total received at the last meeting, if any, by position, and the decisions."""
        return self._log_entry

    def snapshot(self) -> State:
        """Return the state, a checksum of totals and decisions, and the current partial sum."""
        self._compute_part()
        of_sum = self._summation.snapshot(self._partial, self._total)
        return {**self._checked_state(), **of_sum, "mse": self._known_mse()}

    def restore(self, log_entries: Iterable[State], snapshot: State) -> None:
        """Replay the totals, and compute this agent's part of the current sum."""
        with one_blas_thread():
            for log_entry in log_entries:
                if log_entry:
                    self._replay(log_entry)
            what, reached = f"the snapshot of agent {self._id}", self._checked_state()
            shapes = {name: array.shape for name, array in reached.items()}
            of_sum = {name: np.shape(snapshot.get(name, ())) for name in self._summation.names}
            n_known = min(np.size(snapshot.get("mse", ())), 1)
            arrays = checked_arrays(snapshot, {**shapes, **of_sum, "mse": (n_known,)}, what)
            require_equal_state(arrays, reached, what)
            self._compute_part()
        self._partial, total = self._summation.restore(arrays, what)
        if total is not None:
            self._total = total
        if self._summation.under_way:
            self._decisions = packed([])
        self._part = self._partial  # its children are added once, before the snapshot or after
        self._mse = float(arrays["mse"][0]) if n_known else math.nan

    def _checked_state(self) -> State:
        return {**self.state(), "checksum": np.array([self._checksum], dtype=np.int64)}

    def _known_mse(self) -> Array:
        """Return the last error known, as an array of at most one number."""
        return np.array([] if math.isnan(self._mse) else [self._mse])

    def _replay(self, log_entry: State) -> None:
        what = f"log entry {self._updates} of agent {self._id}"
        if self._finished:
            raise MessageError(f"{what} comes after the end of its program; omit it.")
        n_arrays = sum(name.isdecimal() for name in log_entry)
        names = [*(str(place) for place in range(n_arrays)), "decisions"]
        names += [name for name in log_entry if name not in names]
        shapes = {name: np.shape(log_entry[name]) for name in names if name in log_entry}
        arrays = checked_arrays(log_entry, shapes, what)
        try:
            assert self._pending is not None
            self._summation.replay(kind_of(self._pending.compute), arrays)
            total, sizes = flat([arrays[name] for name in names[:n_arrays]])
            self._receive_total(total, sizes, arrays["decisions"].tolist())
            self._total = total
        except Exception as cause:
            raise MessageError(
                f"the program cannot replay {what} ({cause}); "
                "pass the log entries of the same agent and plan."
            ) from cause

    def _add(self, inbox: Sequence[Message]) -> None:
        """Add the children's partial sums to the agent's own part."""
        for message in inbox:
            if message.arrays["checksum"][0] != self._checksum:
                raise MessageError(
                    f"agent {message.sender} has other totals or decisions than agent {self._id} "
                    f"before sum {self._updates}; {SAME_PLAN}"
                )
        self._partial = self._part + sum(message.arrays["sum"] for message in inbox)

    def _receive_sum(self, added: Addends, given: Sequence[float] | None = None) -> None:
        """Take what was added up in a round: the total of the sum, unless it needs another one."""
        total = self._summation.total(added)
        if total is not None:
            self._receive_total(total, self._shapes, given)
            self._total = added
            return
        Decisions(self._id, self._updates, given).require_all()  # nothing is decided yet
        self._total, self._decisions, self._log_entry = added, packed([]), {}
        self._part = self._partial = self._summation.again()

    def _receive_total(
        self, total: Array, shapes: Sequence[tuple[int, ...]], given: Sequence[float] | None = None
    ) -> None:
        """Send a total to the program, decide or follow the decisions given, and log both."""
        arrays, decisions = shaped(total, shapes), Decisions(self._id, self._updates, given)
        try:
            part = next_part(self._program, arrays, decisions.decide)
        except StopIteration as end:
            ending: ProgramOutcome = end.value
            self._iterate, self._finished = ending.iterate, ending.reason
            # Other agents may still need this one to forward messages, now empty.
            self._pending = Part(lambda: (np.zeros(0),), ending.iterate)
        else:
            self._iterate, self._pending = part.iterate, part
        if (mse := self._iterate.mse) is not None and not math.isnan(mse):
            self._mse = mse
        decisions.require_all()
        taken = np.array(decisions.taken, dtype=np.float64)
        self._updates += 1
        self._checksum = crc32(total.data, crc32(repr(shapes).encode(), self._checksum))
        self._checksum = crc32(taken.data, self._checksum)
        self._decisions = packed(decisions.taken)
        places = {str(place): array for place, array in enumerate(arrays)}
        self._log_entry = {**places, "decisions": taken, **self._summation.log_entry()}

    def _compute_part(self) -> None:
        """Compute its part of the current sum, if it is still pending."""
        if self._pending:
            numbers, self._shapes = flat(self._pending.compute())
            pending, self._pending = self._pending, None
            self._part = self._partial = self._summation.begin(
                self._updates,
                kind_of(pending.compute),
                numbers,
                self._shapes,
                wide=pending.wide,
                bound=pending.bound,
            )
