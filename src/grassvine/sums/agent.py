"""Agent for programs over sums, which are added up along a spanning tree."""

import math
from collections.abc import Callable, Iterable, Sequence

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
from grassvine.sums.course import Course, Place, SharedPrograms
from grassvine.sums.decisions import Decisions, packed, unpacked
from grassvine.sums.own import Data
from grassvine.sums.program import Program, flat
from grassvine.sums.progress import PREFIX, last_error
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

    With ``alone``, the program is about this agent's data, so that others cannot run it too.

    Examples
    --------
    >>> import grassvine as gv
    >>> plan = gv.Plan(2, 1, gv.networks.path(2), gv.Exact())
    >>> agent = plan.agent(0, gv.PCAProblem([[1.0, 0.1], [-1.0, 0.0]]))  # as an engine creates it
    >>> type(agent).__name__, agent.id
    ('SumAgent', 0)
    """

    def __init__(
        self, number: int, problem: Problem, program: Program, tree: Tree, *, alone: bool = False
    ):
        self._id = number
        self._alone = alone
        self._problem = problem
        self._data = Data(problem)
        self._place = Place(Course(program))
        self._route = tree.routes[number]
        self._summation: Summation = PlainSummation()
        self._total: Addends = np.zeros(0)
        self._decisions = packed([])
        self._log_entry: State = {}
        self._mse = math.nan  # at the last point that this agent evaluated and the program took
        self._part: Addends | None = None  # of the current sum, with those of its children
        self._shapes: list[tuple[int, ...]] = []

    def begin(self, programs: SharedPrograms | None = None) -> None:
        """Begin the program, so that what it refuses is refused before slot 0.

        With ``programs``, it is run once for this and other agents of the process.
        """
        if programs is not None and not self._alone:
            self._place = programs.join(self._problem, self._place)
        assert self._place.step.part is not None

    def add_up_by(self, summation: Summation) -> None:
        """Choose how parts are added up, before slot 0; by default as they are."""
        assert self._part is None and not self._summation.n_rounds, "the run has begun"
        self._summation = summation

    @property
    def id(self) -> int:
        """The agent's number."""
        return self._id

    def outgoing(self, slot: int) -> Message:
        """Return the partial sum on the way up or the total on the way down; empty at the end."""
        step = self._place.step
        if self._upward(slot):
            return Message(
                self._id, slot, {"sum": self._own_part(), "checksum": step.checksum_message}
            )
        total = self._total
        if step.finished and slot >= self._route.n_slots * self._summation.n_rounds:
            total = self._own_part()  # empty
        return Message(self._id, slot, {"sum": total, "decisions": self._decisions})

    def expected(self, slot: int) -> Shapes:
        """Return the shapes of a partial sum or total and of what comes with it."""
        shape = self._summation.shape(self._own_part())
        if self._upward(slot):
            return {"sum": shape, "checksum": (1,)}
        return {"sum": shape, "decisions": self._decisions.shape}

    def _upward(self, slot: int) -> bool:
        return slot % self._route.n_slots < self._route.n_upward

    def precompute(self, slot: int) -> Callable[[], None] | None:
        """Return the computation of its part, unless the last total is still to be forwarded."""
        rounds_before = self._summation.n_rounds - 1
        forwarded = self._route.n_slots * rounds_before + self._route.sends_down
        return self._compute_part if self._part is None and slot > forwarded else None

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        """Add the children's partial sums, or advance the program with the total.

        A single agent receives its own part, which is the total.
        """
        first, own = inbox[0], self._id
        others = [message for message in inbox if message.sender != own]
        self._log_entry = {}
        part = self._own_part()
        if not self._place.step.finished:
            if first.sender == self._route.parent:
                given = unpacked(first.arrays["decisions"], self._route.parent)
                self._receive_sum(first.arrays["sum"], given)
            else:
                if others:
                    self._add(part, others)
                if self._route.parent < 0:
                    self._receive_sum(part)
        step, iterate = self._place.step, self._place.step.iterate
        return StepReport(
            agent=self._id,
            slot=slot,
            update=step.n_sums,
            cost=iterate.cost,
            mse=math.nan if iterate.mse is None else self._mse,
            gradient_norm=iterate.gradient_norm,
            neighbour=first.sender,
            distance=0.0,
            messages=len(others),
            bytes=sum([message.nbytes for message in others]),
            finished=step.finished,
            share=1.0 if step.finished else iterate.share,
            held_out=last_error(iterate.candidates),
        )

    def conclude(self, slot: int) -> StepReport:
        """Evaluate the fitted model on the agent's own data."""
        step = self._place.step
        cost, squared_error = step.iterate.fit_to(self._problem)
        count = self._problem.n_values
        return StepReport(
            agent=self._id,
            slot=slot,
            update=step.n_sums,
            cost=cost,
            mse=squared_error / count if count else math.nan,
            gradient_norm=step.iterate.gradient_norm,
        )

    def state(self) -> State:
        """Return the arrays of the model, the candidates validated, and the number of sums."""
        step, iterate = self._place.step, self._place.step.iterate
        candidates = {f"{PREFIX}{name}": one for name, one in iterate.candidates.items()}
        updates = np.array([step.n_sums], dtype=np.int64)
        return {**iterate.arrays(), **candidates, "updates": updates}

    def log_entry(self) -> State:
        """Return the total received at the last meeting, if any, by position, and the decisions."""
        return self._log_entry

    def snapshot(self) -> State:
        """Return the state, a checksum of totals and decisions, and the current partial sum."""
        of_sum = self._summation.snapshot(self._own_part(), self._total)
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
            self._own_part()
        # Its children are added once, before the snapshot or after.
        self._part, total = self._summation.restore(arrays, what)
        if total is not None:
            self._total = total
        if self._summation.under_way:
            self._decisions = packed([])
        self._mse = float(arrays["mse"][0]) if n_known else math.nan

    def _checked_state(self) -> State:
        checksum = np.array([self._place.step.checksum], dtype=np.int64)
        return {**self.state(), "checksum": checksum}

    def _known_mse(self) -> Array:
        """Return the last error known, as an array of at most one number."""
        return np.array([] if math.isnan(self._mse) else [self._mse])

    def _replay(self, log_entry: State) -> None:
        step = self._place.step
        what = f"log entry {step.n_sums} of agent {self._id}"
        if step.finished:
            raise MessageError(f"{what} comes after the end of its program; omit it.")
        n_arrays = sum(name.isdecimal() for name in log_entry)
        names = [*(str(place) for place in range(n_arrays)), "decisions"]
        names += [name for name in log_entry if name not in names]
        shapes = {name: np.shape(log_entry[name]) for name in names if name in log_entry}
        arrays = checked_arrays(log_entry, shapes, what)
        try:
            self._summation.replay(step.kind, arrays)
            total, sizes = flat([arrays[name] for name in names[:n_arrays]])
            self._receive_total(total, sizes, arrays["decisions"].tolist())
            self._total = total
        except Exception as cause:
            raise MessageError(
                f"the program cannot replay {what} ({cause}); "
                "pass the log entries of the same agent and plan."
            ) from cause

    def _add(self, part: Addends, inbox: Sequence[Message]) -> None:
        """Add the children's partial sums to the agent's own part."""
        step = self._place.step
        for message in inbox:
            if message.arrays["checksum"][0] != step.checksum:
                raise MessageError(
                    f"agent {message.sender} has other totals or decisions than agent {self._id} "
                    f"before sum {step.n_sums}; {SAME_PLAN}"
                )
        first, *others = (message.arrays["sum"] for message in inbox)
        for other in others:
            first = first + other
        part += first

    def _receive_sum(self, added: Addends, given: Sequence[float] | None = None) -> None:
        """Take what was added up in a round: the total of the sum, unless it needs another one."""
        total = self._summation.total(added)
        self._total = added
        if total is not None:
            self._receive_total(total, self._shapes, given)
            return
        # Nothing is decided yet.
        Decisions(self._id, self._place.step.n_sums, given).require_all()
        self._part, self._decisions, self._log_entry = self._summation.again(), packed([]), {}

    def _receive_total(
        self, total: Array, shapes: Sequence[tuple[int, ...]], given: Sequence[float] | None = None
    ) -> None:
        """Go where the program is after a total, by the decisions given if there are any."""
        self._place = self._place.after(total, shapes, given, self._id)
        step, self._part = self._place.step, None
        self._decisions = step.message
        if step.iterate.mse is not None:
            mse = self._data.get(step.iterate.mse)
            self._mse = self._mse if mse is None else mse
        self._log_entry = {**step.logged, **self._summation.log_entry()}

    def _own_part(self) -> Addends:
        """Return this agent's part of the current sum, with those of its children."""
        if self._part is None:
            self._compute_part()
            assert self._part is not None
        return self._part

    def _compute_part(self) -> None:
        """Compute its part of the current sum, unless it is known."""
        if self._part is None:
            step = self._place.step
            numbers, self._shapes = flat(step.part.of(self._data))
            self._part = self._summation.begin(
                step.n_sums,
                step.kind,
                numbers,
                self._shapes,
                wide=step.part.wide,
                bound=step.part.bound,
            )
