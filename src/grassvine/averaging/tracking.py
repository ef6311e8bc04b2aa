r"""Tracked L-BFGS: exact and fast optimisation by averaging with neighbours, without a tree.

Each agent tracks its own estimates of four averages over all agents: the basis U, the Euclidean
gradient G, the Gram matrix C of the weights and the cost f. In an iteration it moves, evaluates its
problem, and mixes by FastMix rounds (``networks/mixing.py``):

.. math::

    V_i = \mathrm{Exp}_{U_i}(t\,d_i), \qquad
    (U_i, G_i, C_i, f_i) ← \mathrm{mix}(V_i, G_i + ∇f_i(V_i) − ∇f_i^{old}, …), \qquad
    U_i ← \mathrm{polar}(U_i)

Mixing is linear, so the sums of G, C and f over the agents always equal those of their problems;
G is projected on use. Bases are averaged as matrices, so all agents start from the same one.

The direction is that of L-BFGS on the tracked gradients. H₀ is the problem's own preconditioner
(:class:`Preconditioner`), whose statistics are mixed once, three times as long, at the start. The
step size is 1, limited to 0.8/‖d‖₂. When the tracked cost rises, the agent discards all pairs
except the last and halves the step, which then grows again.

Stopping: an agent is ready to stop (``content``) when its tracked gradient has fallen to ``tol`` of
its initial norm and no neighbour's basis differs by more than ``tol``. Every message carries the
minimum of the flags received so far. A mixing has at least as many rounds as the diameter of the
network, so at its end all agents know whether all were ready at its beginning, and all stop at the
same slot.
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
# Number of mixings of the preconditioner's statistics and the initial averages.
FIRST_MIXINGS = 3
LONGEST = 0.8  # radians: the largest principal angle of a step
# A rise of the tracked cost by less than this fraction of the largest cost is rounding.
ROUNDING = 1e-10


@dataclass(frozen=True, slots=True)
class Tracked:
    """Options of tracked L-BFGS.

    Parameters
    ----------
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-9
        Tolerance of the stopping rule; with 0, all iterations are run.
    contraction : float, default=0.003
        Upper bound on the factor by which one mixing reduces differences between agents.
    memory : int, default=10
        Number of pairs that L-BFGS stores.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.averaging import Tracked
    >>> data = gv.datasets.low_rank_ratings(30, 300, rank=2, oversampling=5.0)
    >>> parts = gv.datasets.split_users(data.ratings, 4)
    >>> plan = gv.Plan(30, 2, gv.networks.ring(4), Tracked(max_iter=40))
    >>> result = gv.run(plan, [gv.CompletionProblem(part) for part in parts])
    >>> bool(result.history.final()["mse"].max() < 1e-6)
    True
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
            raise PlanError("contraction is 0, which no mixing reaches; choose a positive number.")

    def check_network(self, network: Network) -> None:
        """Check the size of the timetable."""
        AllEdges().check(network, self._n_slots(network))

    def timetable(self, network: Network, rng: RandomGenerator) -> Timetable:
        """Schedule exchanges over all links at every slot; each mixing takes several slots."""
        return AllEdges().draw(network, self._n_slots(network), rng)

    def _n_slots(self, network: Network) -> int:
        n_rounds = fast_mixing(network, self.contraction).n_rounds
        return (FIRST_MIXINGS + self.max_iter) * n_rounds

    def agent(self, plan: Setup, number: int, problem: Problem) -> NeighbourAgent:
        """Return the agent for a problem."""
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
    for _ in range(FIRST_MIXINGS):
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
        descent.update(before, point)
    return ProgramOutcome(
        Iterate(point.basis, own, point.norm, 0.0, updates + 1),
        f"the gradient norm fell to {options.tol:g} of its initial value, and all agents agree",
    )


def _parts(evaluation: Evaluation) -> Arrays:
    """Return the tracked quantities of an evaluation."""
    return {
        "gradient": evaluation.gradient,
        "gram": evaluation.gram,
        "cost": np.array([evaluation.cost]),
    }


class Point:
    """A basis and an agent's estimates of the averages there."""

    def __init__(self, basis: Array, tracked: Arrays):
        self.basis = basis
        self.tracked = tracked
        self.gradient = SPACE.project(basis, tracked["gradient"])
        self.norm = float(np.linalg.norm(self.gradient))
        self.cost = float(tracked["cost"][0])

    def with_change(self, old: Evaluation, new: Evaluation) -> Arrays:
        """Return the averages plus the change of the agent's own contribution."""
        before, after = _parts(old), _parts(new)
        return {name: self.tracked[name] + after[name] - before[name] for name in after}


@dataclass(slots=True, eq=False)
class Descent:
    """L-BFGS with steps that are halved when the cost rises and then grow again."""

    apply_inverse: ApplyInverse
    pairs: Pairs
    scale: float = 1.0
    largest_cost: float = 0.0

    def step(self, point: Point) -> Array:
        """Return the step as a tangent vector."""
        direction = -self.pairs.apply(point.gradient, lambda z: self._inverse(point, z))
        if np.vdot(direction, point.gradient) > 0.0:
            self.pairs.forget()
            direction = -self._inverse(point, point.gradient)
        length = float(np.linalg.norm(direction, 2))
        return self.scale * (LONGEST / max(length, LONGEST)) * direction

    def update(self, before: Point, after: Point) -> None:
        """Store the pair of a step, discarding all others if the cost rose."""
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
