r"""Tracked L-BFGS: exact and fast by averaging with neighbours, without a tree.

An agent keeps its own idea of four averages over all agents: the basis U, the Euclidean gradient G,
the Gram matrix C of the weights and the cost f. In an iteration it moves, looks, and mixes by
FastMix rounds (``network/mixing.py``):

.. math::

    V_i = \mathrm{Exp}_{U_i}(t\,d_i), \qquad
    (U_i, G_i, C_i, f_i) ← \mathrm{mix}(V_i, G_i + ∇f_i(V_i) − ∇f_i^{old}, …), \qquad
    U_i ← \mathrm{polar}(U_i)

Mixing is linear, so the sums of G, C and f over the agents are those of their tasks at all times;
G is projected on use. Bases are averaged as matrices, so all agents start from the same one.

The direction is that of L-BFGS on the tracked gradients, begun from the task's own preconditioner
(:class:`Preconditioner`), whose facts are mixed once, three times as long, at the start. A step is
of length 1, but no longer than 0.8/‖d‖₂. Where the tracked cost rises, an agent forgets all pairs
but the last and halves the step, which then grows again.

The end: an agent is content when its tracked gradient has fallen to ``tol`` of the first and
no neighbour's basis differs by more than ``tol``. The least contentment heard of travels with
every message; a mixing has at least as many rounds as the network is wide, so at its end all know
whether all were content at its beginning, and all stop at the same slot.
"""

from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.random import Generator as RandomGenerator

from grassvine.averaging.agent import NeighbourAgent
from grassvine.averaging.lbfgs import Pairs
from grassvine.averaging.preconditioner import ApplyInverse, Preconditioner
from grassvine.averaging.program import (
    FRAME,
    Arrays,
    Iterate,
    Mixed,
    Program,
    ProgramOutcome,
    mix,
    polar,
    require_subspaces,
)
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import real_number, whole_number
from grassvine.geometry import Grassmann
from grassvine.networks.graph import Network
from grassvine.networks.mixing import Mixing, fast_mixing
from grassvine.networks.schedule import AllEdges
from grassvine.networks.timetable import Timetable
from grassvine.problems.base import Evaluation, LocalProblem, Problem, as_local_problem
from grassvine.protocol.method import Setup

SPACE = Grassmann()
# How many mixings the facts of the preconditioner and the first averages go through.
FIRST = 3
LONGEST = 0.8  # of a step, in its largest principal angle
# A tracked cost is rounded; a rise of less than this share of the largest cost is none.
ROUNDING = 1e-10


@dataclass(frozen=True, slots=True)
class Tracked:
    """The options of tracked L-BFGS.

    Parameters
    ----------
    max_iter : int
        How many moves at most.
    tol : float
        When an agent is content; 0 goes on to the last iteration.
    contraction : float
        To what share of themselves a mixing reduces differences between agents, or to less.
    memory : int
        How many pairs L-BFGS keeps.
    """

    max_iter: int = 200
    tol: float = 1e-9
    contraction: float = 0.003
    memory: int = 10

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("max_iter", self.max_iter, least=0)
        real_number("tol", self.tol, least=0.0)
        whole_number("memory", self.memory, least=0)
        if real_number("contraction", self.contraction, least=0.0, below=1.0) == 0.0:
            raise PlanError("contraction is 0, which no mixing reaches; choose 0.003 or so.")

    def timetable(self, network: Network, rng: RandomGenerator) -> Timetable:
        """Every agent hears all its neighbours at every slot; a mixing takes several."""
        n_rounds = fast_mixing(network, self.contraction).n_rounds
        return AllEdges().draw(network, (FIRST + self.max_iter) * n_rounds, rng)

    def agent(self, plan: Setup, number: int, problem: Problem) -> NeighbourAgent:
        """Make the agent that holds a problem."""
        require_subspaces(plan, "Tracked")
        own, mixing = as_local_problem(problem), fast_mixing(plan.network, self.contraction)
        return NeighbourAgent(number, own, _tracked(number, own, plan.start(0), mixing, self))


def _tracked(
    number: int, problem: LocalProblem, basis: Array, mixing: Mixing, options: Tracked
) -> Program:
    own = problem.evaluate(basis)
    iterate = Iterate(basis, own, float(np.linalg.norm(SPACE.project(basis, own.gradient))))
    preconditioner = Preconditioner.of(problem)
    mixed = Mixed({"facts": preconditioner.statistics, **_parts(own)}, 0.0, False)
    for _ in range(FIRST):
        mixed = yield from mix(mixing, number, mixed.arrays, iterate)
    apply_inverse = preconditioner.build(mixed.arrays["facts"], len(mixing.matrix))
    point = Point(basis, mixed.arrays)
    first = point.norm
    descent = Descent(apply_inverse, Pairs(options.memory))
    for updates in count():
        content = point.norm <= options.tol * first and mixed.distance <= options.tol
        step = descent.step(point)
        iterate = Iterate(point.basis, own, point.norm, descent.scale, updates)
        moved = SPACE.exp(point.basis, step)
        new = problem.evaluate(moved)
        sent = {FRAME: moved, **point.with_change(own, new)}
        mixed = yield from mix(mixing, number, sent, iterate, content)
        before, point = point, Point(polar(mixed.arrays[FRAME]), mixed.arrays)
        own = new
        if mixed.all_content:
            break
        descent.learn(before, point)
    return ProgramOutcome(
        Iterate(point.basis, own, point.norm, 0.0, updates + 1),
        f"the gradient of all fell to {options.tol:g} of its first length, and all agree",
    )


def _parts(evaluation: Evaluation) -> Arrays:
    """Return what is tracked of an evaluation."""
    return {
        "gradient": evaluation.gradient,
        "gram": evaluation.gram,
        "cost": np.array([evaluation.cost]),
    }


class Point:
    """A basis and an agent's idea of the averages there."""

    def __init__(self, basis: Array, tracked: Arrays):
        self.basis = basis
        self.tracked = tracked
        self.gradient = SPACE.project(basis, tracked["gradient"])
        self.norm = float(np.linalg.norm(self.gradient))
        self.cost = float(tracked["cost"][0])

    def with_change(self, old: Evaluation, new: Evaluation) -> Arrays:
        """Return the averages with the change of the agent's own part added."""
        before, after = _parts(old), _parts(new)
        return {name: self.tracked[name] + after[name] - before[name] for name in after}


@dataclass(slots=True, eq=False)
class Descent:
    """L-BFGS, with steps that are halved where the cost rises and then grow again."""

    apply_inverse: ApplyInverse
    pairs: Pairs
    scale: float = 1.0
    largest_cost: float = 0.0

    def step(self, point: Point) -> Array:
        """Return the tangent by which to move."""
        direction = -self.pairs.apply(point.gradient, lambda z: self._inverse(point, z))
        if np.vdot(direction, point.gradient) > 0.0:
            self.pairs.forget()
            direction = -self._inverse(point, point.gradient)
        length = float(np.linalg.norm(direction, 2))
        return self.scale * (LONGEST / max(length, LONGEST)) * direction

    def learn(self, before: Point, after: Point) -> None:
        """Keep the pair of a step; after a rise of the cost, that one alone."""
        self.largest_cost = max(self.largest_cost, abs(before.cost), abs(after.cost))
        if after.cost > before.cost + ROUNDING * self.largest_cost:
            self.pairs.forget()
            self.scale *= 0.5
        else:
            self.scale = min(1.0, 2.0 * self.scale)
        self.pairs.carry(after.basis)
        self.pairs.add(
            SPACE.project(after.basis, after.basis - before.basis),
            after.gradient - SPACE.project(after.basis, before.gradient),
        )

    def _inverse(self, point: Point, tangent: Array) -> Array:
        return SPACE.project(point.basis, self.apply_inverse(tangent, point.tracked["gram"]))
