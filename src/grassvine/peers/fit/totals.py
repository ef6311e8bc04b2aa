"""Programs between members: sums before the fit, the fit, and sums after it.

A member's data are a :class:`MemberProblem`. Before the fit it sums what the problem to solve needs
from all members (counts, means); after it, what the model and the common error need.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from grassvine.foundations.arrays import Array
from grassvine.gossip import Gossip
from grassvine.peers.fit.plausible import require_plausible
from grassvine.problems.base import Problem
from grassvine.protocol.agent import State
from grassvine.protocol.method import Method
from grassvine.sums.descent.reasons import CONTRADICTION
from grassvine.sums.program import (
    Decision,
    Iterate,
    Program,
    ProgramOutcome,
    Subprogram,
    about,
    first_part,
    map_iterates,
)

Totals = Mapping[str, Array]


class MemberProblem(Problem, Protocol):
    """One member's data, as a part of what all members learn."""

    def sums_before(self, number: int, iterate: Iterate) -> Subprogram[Totals]:
        """Sum what the fit needs to know about the data of all members."""
        ...

    def problem(self, totals: Totals) -> Problem:
        """Return the problem of this member's data."""
        ...

    def gossip(self, totals: Totals, n_agents: int) -> Gossip:
        """Return the variant of gossip, on the scale of the data."""
        ...

    def sums_after(
        self, number: int, totals: Totals, fitted: State, iterate: Iterate
    ) -> Subprogram[Totals]:
        """Sum what the model and the common error need, once there is a common fit."""
        ...


class ProgramMethod(Method, Protocol):
    """A method by sums, whose program can be part of another."""

    def program(self, problem: Problem, start: Array, seed: int, /) -> Program:
        """Return the program for agents with problems of this kind."""
        ...


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JoinedIterate(Iterate):
    """The iterate of a fit within the program between members.

    ``totals`` are part of the agent's state; ``inner`` is the iterate of the fit for ``of``, the
    problem that the totals define.
    """

    totals: Totals = field(default_factory=dict)
    inner: Iterate | None = None
    of: Problem | None = None

    def arrays(self) -> dict[str, Array]:
        """Return the fitted model and the totals as named arrays."""
        fitted = {"basis": self.basis} if self.inner is None else self.inner.arrays()
        return {**fitted, **self.totals}

    def fit_to(self, problem: Problem) -> tuple[float, float]:
        """Return the cost and squared error of this member's data; unknown before the fit."""
        if self.inner is None or self.of is None:
            return math.nan, math.nan
        return self.inner.fit_to(self.of)


def joined(iterate: Iterate, totals: Totals, of: Problem) -> JoinedIterate:
    """Return an iterate of the fit with the totals added."""
    return JoinedIterate(
        iterate.basis,
        iterate.cost,
        iterate.gradient_norm,
        iterate.candidates,
        iterate.share,
        totals=totals,
        inner=iterate,
        of=of,
    )


def learn_by_sums(
    data: MemberProblem, number: int, method: ProgramMethod, start: Array, seed: int, most: int
) -> Program:
    """Return the program of a member: sums before, at most so many sums of the fit, sums after."""
    before = yield from data.sums_before(number, JoinedIterate(start))
    problem = data.problem(before)
    fit = limited(about(problem, method.program(problem, start, seed)), most)
    outcome = yield from map_iterates(fit, lambda iterate: joined(iterate, before, problem))
    yield from require_plausible(outcome.reason != CONTRADICTION, CONTRADICTION)
    fitted = joined(outcome.iterate, before, problem)
    after = yield from data.sums_after(number, before, fitted.arrays(), fitted)
    return ProgramOutcome(joined(outcome.iterate, {**before, **after}, problem), outcome.reason)


def limited(program: Program, most: int) -> Program:
    """Run a program for at most so many sums; then it ends at its last iterate."""
    part = first_part(program)
    for _ in range(most):
        answer = yield part
        try:
            while isinstance(request := program.send(answer), Decision):
                answer = yield request
        except StopIteration as end:
            outcome: ProgramOutcome = end.value
            return outcome
        part = request
    program.close()
    return ProgramOutcome(part.iterate, f"reached the limit of {most} sums")
