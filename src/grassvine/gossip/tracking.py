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

The end: an agent is content when its tracked gradient has fallen to ``tolerance`` of the first and
no neighbour's basis differs by more than ``tolerance``. The least contentment heard of travels with
every message; a mixing has at least as many rounds as the network is wide, so at its end all know
whether all were content at its beginning, and all stop at the same slot.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.random import Generator as RandomGenerator

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import real_number, whole_number
from grassvine.geometry import Grassmann
from grassvine.gossip.rextra import (
    FRAME,
    Arrays,
    Ending,
    Exchange,
    Inbox,
    NeighbourAgent,
    Program,
    Standing,
    polar,
    require_subspaces,
)
from grassvine.network.graph import Network
from grassvine.network.mixing import Mixing, fast_mixing
from grassvine.network.schedule import AllEdges
from grassvine.network.timetable import Timetable
from grassvine.problems.base import Evaluation, LocalProblem
from grassvine.problems.completion import CompletionProblem
from grassvine.problems.multitask import MultitaskProblem

if TYPE_CHECKING:
    from grassvine.gossip.plan import Plan

SPACE = Grassmann()
Divide: TypeAlias = Callable[[Array, Array], Array]  # a tangent and C
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
    n_iterations : int
        How many moves at most.
    tolerance : float
        When an agent is content; 0 goes on to the last iteration.
    contraction : float
        To what share of themselves a mixing reduces differences between agents, or to less.
    memory : int
        How many pairs L-BFGS keeps.
    """

    n_iterations: int = 200
    tolerance: float = 1e-9
    contraction: float = 0.003
    memory: int = 10

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("n_iterations", self.n_iterations, least=0)
        real_number("tolerance", self.tolerance, least=0.0)
        whole_number("memory", self.memory, least=0)
        if real_number("contraction", self.contraction, least=0.0, below=1.0) == 0.0:
            raise PlanError("contraction is 0, which no mixing reaches; choose 0.003 or so.")

    def timetable(self, network: Network, rng: RandomGenerator) -> Timetable:
        """Every agent hears all its neighbours at every slot; a mixing takes several."""
        n_rounds = fast_mixing(network, self.contraction).n_rounds
        return AllEdges().draw(network, (FIRST + self.n_iterations) * n_rounds, rng)

    def agent(self, plan: "Plan", number: int, problem: LocalProblem) -> NeighbourAgent:
        """Make the agent that holds a problem."""
        require_subspaces(plan, "Tracked")
        mixing = fast_mixing(plan.network, self.contraction)
        program = _tracked(number, problem, plan.start(0), mixing, self)
        return NeighbourAgent(number, problem, program)


@dataclass(frozen=True, slots=True, eq=False)
class Mixed:
    """What came of a mixing: averages, and whether all were content when it began.

    ``distance`` is how far the farthest neighbour's frame was from one's own, relative to that.
    """

    arrays: Arrays
    distance: float
    all_content: bool


MixingRounds: TypeAlias = Generator[Exchange, Inbox, Mixed]


def mix(
    mixing: Mixing, number: int, arrays: Arrays, standing: Standing, content: bool = False
) -> MixingRounds:
    """Average arrays with all others, nearly; for use with ``yield from``."""
    now = before = arrays
    least, distance = float(content), 0.0
    for turn in range(mixing.n_rounds):
        sent = {**now, "content": np.array([least])}
        arrived = yield Exchange(sent, standing, fresh=turn == 0)
        if turn == 0 and FRAME in arrays:
            gaps = [np.linalg.norm(other[FRAME] - now[FRAME]) for other in arrived.values()]
            distance = float(max(gaps) / np.linalg.norm(now[FRAME]))
        least = min(least, *(float(other["content"][0]) for other in arrived.values()))
        mixed = {}
        for name, own in now.items():
            others = {sender: other[name] for sender, other in arrived.items()}
            mixed[name] = mixing.round(number, own, before[name], others)
        now, before = mixed, now
    return Mixed(now, distance, least > 0.0)


def _tracked(
    number: int, problem: LocalProblem, basis: Array, mixing: Mixing, options: Tracked
) -> Program:
    own = problem.evaluate(basis)
    standing = Standing(basis, own, float(np.linalg.norm(SPACE.project(basis, own.gradient))))
    preconditioner = Preconditioner.of(problem)
    mixed = Mixed({"facts": preconditioner.facts, **_parts(own)}, 0.0, False)
    for _ in range(FIRST):
        mixed = yield from mix(mixing, number, mixed.arrays, standing)
    divide = preconditioner.divider(mixed.arrays["facts"], len(mixing.matrix))
    point = Point(basis, mixed.arrays)
    first = point.norm
    descent = Descent(divide, Pairs(options.memory))
    for updates in count():
        content = point.norm <= options.tolerance * first and mixed.distance <= options.tolerance
        step = descent.step(point)
        standing = Standing(point.basis, own, point.norm, descent.scale, updates)
        moved = SPACE.exp(point.basis, step)
        new = problem.evaluate(moved)
        sent = {FRAME: moved, **point.with_change(own, new)}
        mixed = yield from mix(mixing, number, sent, standing, content)
        before, point = point, Point(polar(mixed.arrays[FRAME]), mixed.arrays)
        own = new
        if mixed.all_content:
            break
        descent.learn(before, point)
    return Ending(
        Standing(point.basis, own, point.norm, 0.0, updates + 1),
        f"the gradient of all fell to {options.tolerance:g} of its first length, and all agree",
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

    divide: Divide
    pairs: "Pairs"
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
        return SPACE.project(point.basis, self.divide(tangent, point.tracked["gram"]))


@dataclass(slots=True, eq=False)
class Pairs:
    """The memory of L-BFGS: steps, changes of the gradient, and their products."""

    most: int
    kept: list[tuple[Array, Array]] = field(default_factory=list)

    def forget(self) -> None:
        """Begin anew."""
        self.kept.clear()

    def carry(self, basis: Array) -> None:
        """Bring all pairs to another basis, by projection."""
        self.kept = [(SPACE.project(basis, s), SPACE.project(basis, y)) for s, y in self.kept]

    def add(self, step: Array, change: Array) -> None:
        """Keep a pair that says that the cost is curved upwards."""
        if np.vdot(step, change) > 1e-8 * np.linalg.norm(step) * np.linalg.norm(change):
            self.kept = [*self.kept, (step, change)][-self.most :] if self.most else []

    def apply(self, gradient: Array, inverse: Callable[[Array], Array]) -> Array:
        """Return Hg by the two loops of L-BFGS, with H₀ scaled by the last pair."""
        usable = [(s, y, float(np.vdot(s, y))) for s, y in self.kept]
        usable = [(s, y, product) for s, y, product in usable if product > 0.0]
        left, shares = gradient, []
        for step, change, product in reversed(usable):
            shares.append(float(np.vdot(step, left)) / product)
            left = left - shares[-1] * change
        found = inverse(left)
        if usable:
            _, change, product = usable[-1]
            found = found * (product / float(np.vdot(change, inverse(change))))
        for (step, change, product), share in zip(usable, reversed(shares), strict=True):
            found = found + (share - float(np.vdot(change, found)) / product) * step
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Preconditioner:
    """An approximate Hessian of all tasks: its facts are averaged over the agents, once.

    Completion: ξ ↦ diag(p_i + λ)ξC, where p_i is the share of users who rated item i. Multitask:
    ξ ↦ (A + λI)ξC with A the mean of X_tᵀX_t. Other tasks: ξ ↦ ξC, or the identity where there is
    no C. The last is of no known scale; L-BFGS finds it from its pairs.
    """

    facts: Array
    divider: Callable[[Array, int], Divide]

    @classmethod
    def of(cls, problem: LocalProblem) -> "Preconditioner":
        """Return the one of a problem."""
        if isinstance(problem, CompletionProblem):
            return _of_completion(problem)
        if isinstance(problem, MultitaskProblem):
            return _of_multitask(problem)
        return cls(np.zeros(0), lambda facts, n_agents: _divide_gram)


def _of_completion(problem: CompletionProblem) -> Preconditioner:
    ratings = problem.ratings
    counts = np.bincount(ratings.items, minlength=ratings.n_items)

    def divider(facts: Array, n_agents: int) -> Divide:
        # An item that nobody rated counts as rated once.
        shares = np.maximum(facts[:-1], 1.0 / n_agents) / facts[-1]
        scales = shares + problem.unobserved + problem.tikhonov
        return lambda tangent, gram: _divide_gram(tangent / scales[:, None], gram)

    return Preconditioner(np.append(counts, ratings.n_users).astype(np.float64), divider)


def _of_multitask(problem: MultitaskProblem) -> Preconditioner:
    n_items, n_tasks = problem.n_items, problem.tasks.n_tasks
    moments = sum((x.T @ x for x in problem.tasks.features), start=np.zeros((n_items, n_items)))

    def divider(facts: Array, n_agents: int) -> Divide:
        mean = facts[:-1].reshape(n_items, n_items) / facts[-1]
        values, vectors = np.linalg.eigh(0.5 * (mean + mean.T))
        # Below this the averages of different agents differ, and unseen features have nothing.
        values = np.maximum(values, 1e-7 * values[-1]) + problem.ridge

        def divide(tangent: Array, gram: Array) -> Array:
            return _divide_gram(vectors @ ((vectors.T @ tangent) / values[:, None]), gram)

        return divide

    return Preconditioner(np.append(moments.ravel(), n_tasks).astype(np.float64), divider)


def _divide_gram(tangent: Array, gram: Array) -> Array:
    """Return ξC⁻¹, no eigenvalue of C counting as less than a millionth of the largest."""
    if not gram.size:
        return tangent
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    values = np.maximum(values, 1e-6 * values[-1]) if values[-1] > 0.0 else np.ones_like(values)
    return ((tangent @ vectors) / values) @ vectors.T
