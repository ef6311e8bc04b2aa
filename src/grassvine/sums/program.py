"""Programs over sums: all agents run one program, which communicates by sums over all agents.

A program is a generator without data. It yields how to compute an agent's part of a sum from the
agent's :class:`~grassvine.sums.own.Data` and is sent the total, which has the same bits at every
agent. So the agents of one process share one program (:mod:`grassvine.sums.course`). Agents add up
along a tree; :func:`run_pooled` runs the same program for a single owner of all the data.

What agents compute from the same totals may differ in the last bits, because their processors and
libraries differ. Such points are equal up to rounding, but a comparison could fall differently, and
agents would wait for different sums. So a program passes every comparison of numbers that depend on
totals through :func:`decide`, and other numbers on which its course depends (step lengths, counts,
regularisation strengths) through :func:`agree`: all agents get the value that the root computed.

Passes over the data happen only while a part is computed, so a program can be replayed from its
totals without any.
"""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, pairwise
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import PlanError
from grassvine.problems.base import Problem, as_local_problem
from grassvine.sums.own import Data, Own


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """The current point of a program: a basis, the cost of all agents, and the gradient norm.

    ``candidates`` are the columns of a table of the candidates validated so far, if any, and
    ``share`` is the estimated share of the program that is done, if known. ``mse`` is each agent's
    own mean squared error at this point, over the values that are being fitted: a by-product of its
    part of the sum, which is not sent.

    Models with more than a basis are subclasses that override the methods for their arrays and
    their fit to one agent's data; agents and engines use only these methods.
    """

    basis: Array
    cost: float = math.nan
    gradient_norm: float = math.nan
    candidates: Mapping[str, Array] = field(default_factory=dict)
    share: float = math.nan
    mse: Own[float] | None = None

    def arrays(self) -> dict[str, Array]:
        """Return the fitted model as named arrays."""
        return {"basis": self.basis}

    def fit_to(self, problem: Problem) -> tuple[float, float]:
        """Return the cost of one agent's problem, and its squared error over the known values."""
        evaluation = as_local_problem(problem).evaluate(self.basis)
        return evaluation.cost, evaluation.squared_error


# Returns the arrays and numbers of an agent's part of a sum.
Compute: TypeAlias = Callable[[Data], Sequence[Array | float]]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """How to compute an agent's part of a sum, and the current iterate of its program.

    ``compute`` is called at most once for an agent before the total is sent, and not at all if the
    total is already known. Its only side effect is to keep values in the data for later parts.
    ``wide`` says that the numbers of one array have different units, such as features, so that the
    small ones must not be rounded to the accuracy of the large ones. ``bound`` is what no number of
    any part can exceed, if totals say so, and otherwise 0. ``data`` are used instead of the agent's
    if the program is about another problem (:func:`about`).
    """

    compute: Compute
    iterate: Iterate
    wide: bool = False
    bound: float = 0.0
    data: Data | None = None

    def of(self, data: Data) -> Sequence[Array | float]:
        """Return the part of an agent with these data."""
        return self.compute(self.data or data)


@dataclass(frozen=True, slots=True)
class Decision:
    """A number computed from totals, to be replaced by the one that the root computed."""

    value: float


@dataclass(frozen=True, slots=True, eq=False)
class ProgramOutcome:
    """The final iterate of a program, and the reason why it stopped."""

    iterate: Iterate
    reason: str


Result = TypeVar("Result")
# A generator that is sent the arrays of its parts, summed over all agents, and decided numbers.
Subprogram: TypeAlias = Generator[Part | Decision, list[Array], Result]
Program: TypeAlias = Subprogram[ProgramOutcome]


def all_reduce(
    iterate: Iterate, compute: Compute, *, wide: bool = False, bound: float = 0.0
) -> Subprogram[list[Array]]:
    """Sum several arrays over all agents; for use with ``yield from``. See :class:`Part`."""
    return (yield Part(compute, iterate, wide, bound))


def agree(number: float) -> Subprogram[float]:
    """Return the number as the root computed it; for use with ``yield from``, after a sum."""
    (decided,) = yield Decision(float(number))
    return float(decided)


def decide(condition: bool) -> Subprogram[bool]:
    """Return whether the condition holds at the root; for use with ``yield from``, after a sum."""
    return bool((yield from agree(condition)))


def kind_of(compute: Compute) -> str:
    """Return a name for sums of the same quantities: that of the function that computes parts.

    With its line, because functions without names are alike otherwise.
    """
    function = compute.func if isinstance(compute, partial) else compute
    name: str = getattr(function, "__qualname__", type(function).__qualname__)
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name}:{code.co_firstlineno}"


def flat(arrays: Sequence[ArrayLike]) -> tuple[Array, list[tuple[int, ...]]]:
    """Return several arrays concatenated into one vector, and their shapes."""
    numbers = [np.asarray(array, dtype=np.float64) for array in arrays]
    shapes = [array.shape for array in numbers]
    return np.concatenate([array.ravel() for array in numbers]), shapes


def shaped(numbers: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Return the arrays that :func:`flat` concatenated."""
    ends = list(accumulate((math.prod(shape) for shape in shapes), initial=0))
    return [
        numbers[start:end].reshape(shape)
        for (start, end), shape in zip(pairwise(ends), shapes, strict=True)
    ]


def map_iterates(
    program: Subprogram[Result], change: Callable[[Iterate], Iterate]
) -> Subprogram[Result]:
    """Run a program with ``change`` applied to its intermediate iterates."""
    return _map_parts(program, lambda part: replace(part, iterate=change(part.iterate)))


def about(problem: Problem, program: Subprogram[Result]) -> Subprogram[Result]:
    """Run a program on a problem instead of that of the agent which runs it."""
    data = Data(problem)
    return _map_parts(program, lambda part: replace(part, data=data))


def _map_parts(program: Subprogram[Result], change: Callable[[Part], Part]) -> Subprogram[Result]:
    request = next(program)
    while True:
        answer = yield change(request) if isinstance(request, Part) else request
        try:
            request = program.send(answer)
        except StopIteration as end:
            result: Result = end.value
            return result


def first_part(program: Subprogram[Result]) -> Part:
    """Start a program, and return its first part."""
    request = next(program)
    if isinstance(request, Decision):
        raise PlanError(
            "the program decides before its first sum, when agents have nothing in common; "
            "let it sum first what the decision depends on."
        )
    return request


def next_part(
    program: Subprogram[Result], total: list[Array], decide: Callable[[float], float] = float
) -> Part:
    """Send a program a total, decide what it asks, and return its next part.

    At the end of the program StopIteration is raised, with its result as value.
    """
    request = program.send(total)
    while isinstance(request, Decision):
        request = program.send([np.array(decide(request.value))])
    return request


def run_pooled(program: Program, problem: Problem) -> ProgramOutcome:
    """Run a program for a single owner of all the data, whose part is the total."""
    data = Data(problem)
    with one_blas_thread():
        part = first_part(program)
        while True:
            try:
                part = next_part(program, shaped(*flat(part.of(data))))
            except StopIteration as end:
                ending: ProgramOutcome = end.value
                return ending
