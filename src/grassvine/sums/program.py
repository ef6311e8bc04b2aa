"""Methods made of sums: all agents run one program, and what they must agree on are sums over all.

A program is a generator that each agent runs over its own problem. It yields how to compute its
part of a sum and is sent the sum of all parts, which has the same bits everywhere; so all agents
take the same decisions, and stand at the same point. Here the sums go up and down a tree;
:func:`run_pooled` runs the same program for one owner of all data.

All that takes a pass over the data happens in computing a part: a program that is told its sums
once more goes through them without one.
"""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.problems.base import Problem, as_local_problem


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """The current point of a program: a basis, the cost of all agents, and the gradient norm.

    A model that has more than a basis is a subclass, with methods of its own for its arrays and
    for its fit to one agent's data. The agent, the tree and the engines know only these methods.
    """

    basis: Array
    cost: float = math.nan
    gradient_norm: float = math.nan

    def arrays(self) -> dict[str, Array]:
        """Return the fitted model as named arrays."""
        return {"basis": self.basis}

    def fit_to(self, problem: Problem) -> tuple[float, float]:
        """Return the cost of one agent's problem, and its squared error over the known values."""
        evaluation = as_local_problem(problem).evaluate(self.basis)
        return evaluation.cost, evaluation.squared_error


# Returns the arrays and numbers that are this agent's part of a sum.
Compute: TypeAlias = Callable[[], Sequence[Array | float]]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """How to compute an agent's part of a sum, and where its program stands.

    Who runs the program calls ``compute`` before it sends the sum, once, or not at all where it
    knows the sum already. It changes nothing but what it keeps for later parts.
    """

    compute: Compute
    iterate: Iterate


@dataclass(frozen=True, slots=True, eq=False)
class ProgramOutcome:
    """Where a program ended, and why."""

    iterate: Iterate
    reason: str


Result = TypeVar("Result")
# Is sent the arrays of its parts, summed over all agents.
Subprogram: TypeAlias = Generator[Part, list[Array], Result]
Program: TypeAlias = Subprogram[ProgramOutcome]


def all_reduce(iterate: Iterate, compute: Compute) -> Subprogram[list[Array]]:
    """Add several arrays over all agents in one sum; for use with ``yield from``."""
    return (yield Part(compute, iterate))


def flat(arrays: Sequence[ArrayLike]) -> tuple[Array, list[tuple[int, ...]]]:
    """Return the numbers of several arrays one after the other, and the arrays' shapes."""
    numbers = [np.asarray(array, dtype=np.float64) for array in arrays]
    shapes = [array.shape for array in numbers]
    return np.concatenate([array.ravel() for array in numbers]), shapes


def shaped(numbers: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Return the arrays of which :func:`flat` made numbers and shapes."""
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    pieces = np.split(numbers, ends[:-1])
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]


def map_iterates(
    program: Subprogram[Result], change: Callable[[Iterate], Iterate]
) -> Subprogram[Result]:
    """Run a program and change what others see of where it stands on the way."""
    part = next(program)
    while True:
        total = yield replace(part, iterate=change(part.iterate))
        try:
            part = program.send(total)
        except StopIteration as end:
            result: Result = end.value
            return result


def run_pooled(program: Program) -> ProgramOutcome:
    """Run a program for one owner of all data, whose part is the sum."""
    with one_blas_thread():
        part = next(program)
        while True:
            try:
                part = program.send(shaped(*flat(part.compute())))
            except StopIteration as end:
                ending: ProgramOutcome = end.value
                return ending
