r"""Selection of λ and the rank of plain completion on entries that every agent holds out.

Only sums are sent: the squared error at all held-out entries is one more number in the sum that
yields cost and gradient, so all agents know it at every iteration and stop together.

U is orthonormal, so a user who rated a share p of the items has A_j ≈ pI, and

.. math:: S_j ∝ A_j + \frac{λ}{1−λ} I

shrinks its weights by about p / (p + λ/(1−λ)). This ratio is dimensionless, so λ/(1−λ) is searched
among p·2^{−k}. A ridge μ need not be searched: the subspace for λ is that for μ = λ/(1−λ).

The rank increases from 1 as in :mod:`grassvine.sums.descent.continuation`. A descent stops when the
held-out error has stopped falling, and its result is its best point. At each rank that may be
chosen, λ is decreased or increased until the error rises; each descent starts at the best point so
far.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grassvine.data import Ratings, hold_out_of_users
from grassvine.foundations.arrays import Array
from grassvine.problems.base import CompletesRatings, Problem
from grassvine.protocol.agent import State
from grassvine.sums.descent.conjugate_gradient import Descent, StoppingRule, conjugate_gradient
from grassvine.sums.descent.continuation import widened
from grassvine.sums.descent.points import Point
from grassvine.sums.descent.preconditioners import ItemScaling
from grassvine.sums.own import Data, Own, own_problem
from grassvine.sums.program import (
    Iterate,
    Program,
    ProgramOutcome,
    Subprogram,
    agree,
    all_reduce,
    decide,
    map_iterates,
)
from grassvine.sums.progress import CandidateLog, with_candidates
from grassvine.sums.statistics import RatingStatistics, rating_statistics

if TYPE_CHECKING:
    from grassvine.sums.validated import Validated

FIRST_STEP, MIN_STEP, MAX_STEP = 2, -4, 14  # k of λ/(1−λ) = p·2^{−k}
# A smaller relative decrease of a squared error may be rounding.
MARGIN = 2e-4
# If the error rises by more than this fraction by the end of a descent, it needs early stopping.
RISE = 2e-2
N_RANKS_NO_CHANGE = 2  # consecutive ranks without improvement


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ValidatedIterate(Iterate):
    """The current model: a basis for the centred ratings, their centre, and λ."""

    centre: float
    unobserved: float

    def arrays(self) -> dict[str, Array]:
        """Return the model as named arrays; :meth:`from_arrays` reads them."""
        return {
            "basis": self.basis,
            "centre": np.array([self.centre]),
            "unobserved": np.array([self.unobserved]),
        }

    @classmethod
    def from_arrays(cls, arrays: State) -> "ValidatedIterate":
        """Return the model in an agent's state."""
        (centre,), (unobserved,) = arrays["centre"], arrays["unobserved"]
        basis = arrays["basis"].astype(np.float64)
        return cls(basis, centre=float(centre), unobserved=float(unobserved))

    def fit_to(self, problem: Problem) -> tuple[float, float]:
        """Return the cost and squared error of all entries of an agent, after centring."""
        assert isinstance(problem, CompletesRatings)
        entries = problem.ratings.shifted(-self.centre)
        evaluation = problem.with_ratings(entries, unobserved=self.unobserved).evaluate(self.basis)
        return evaluation.cost, evaluation.squared_error


class HeldOut:
    """A monitor that stops a descent when the error at held-out entries stops falling."""

    def __init__(self, problem: Own[CompletesRatings], held: Own[Ratings], n_iter_no_change: int):
        self._problem, self._held, self._n_iter_no_change = problem, held, n_iter_no_change
        self._n_no_change = 0
        self.seen: list[float] = []  # squared errors of all agents
        self.best: Point | None = None

    def count(self, data: Data, basis: Array) -> float:
        """Return the squared error at an agent's held-out entries."""
        residuals = data[self._problem].residuals(basis, data[self._held])
        return float(residuals @ residuals)

    def check(self, point: Point) -> Subprogram[str]:
        """Record the best point; stop after ``n_iter_no_change`` points without improvement."""
        self.seen.append(point.monitored)
        if self.best is None or (yield from is_lower(point.monitored, self.best.monitored)):
            self.best, self._n_no_change = point, 0
        else:
            self._n_no_change += 1
        if self._n_no_change < self._n_iter_no_change:
            return ""
        return f"the held-out error did not fall in {self._n_no_change} consecutive iterations"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Each agent's entries, centred by the mean over all agents, and the pooled statistics."""

    given: Own[CompletesRatings]
    entries: Own[Ratings]
    statistics: RatingStatistics

    @property
    def density(self) -> float:
        """The density of the pooled table."""
        return float(self.statistics.counts.sum()) / (self.n_items * self.statistics.n_users)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.statistics.counts)

    def problem(self, unobserved: float) -> Own[CompletesRatings]:
        """Return each agent's problem for a λ."""
        return Own(
            lambda data: data[self.given].with_ratings(data[self.entries], unobserved=unobserved)
        )

    def descend(
        self,
        start: Array,
        unobserved: float,
        stopping: StoppingRule,
        monitor: HeldOut | None = None,
    ) -> Descent:
        """Minimise the cost of all agents for a λ."""
        # Count an unrated item as rated once, so that rounding does not move its row.
        shares = np.maximum(self.statistics.counts, 1.0) / self.statistics.n_users
        problem, preconditioner = self.problem(unobserved), ItemScaling(shares + unobserved)
        descending = conjugate_gradient(problem, start, preconditioner, stopping, monitor)
        return map_iterates(descending, lambda iterate: self.as_model(iterate, unobserved))

    def widen(self, basis: Array, unobserved: float, seed: int) -> Subprogram[Array]:
        """Extend a basis by the dominant direction of its residual."""
        widening = widened(self.problem(unobserved), basis, seed)
        return map_iterates(widening, lambda iterate: self.as_model(iterate, unobserved))

    def as_model(self, iterate: Iterate, unobserved: float) -> ValidatedIterate:
        """Return an iterate with centre and λ added."""
        return ValidatedIterate(
            iterate.basis,
            iterate.cost,
            iterate.gradient_norm,
            centre=self.statistics.centre,
            unobserved=unobserved,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A λ, the best basis of its descent, and the held-out squared errors there and at the end."""

    step: int
    unobserved: float
    basis: Array
    error: float
    last_error: float
    row: int  # in the table of candidates


Search: TypeAlias = Subprogram[Candidate]


def is_lower(error: float, than: float) -> Subprogram[bool]:
    """Decide whether a squared error is lower by more than rounding."""
    return decide(error < (1.0 - MARGIN) * than)


def choose_and_fit(
    method: "Validated", problem: CompletesRatings, start: Array, *, seed: int
) -> Program:
    """Choose λ and the rank on held-out entries, then continue with all entries.

    The start is the same for all agents, and its rank is the maximum. If the held-out error rose
    after the best point, the result stays at that point.
    """
    log = CandidateLog()
    return with_candidates(_choose_and_fit(method, problem, start, seed, log), log)


def _choose_and_fit(
    method: "Validated", problem: CompletesRatings, start: Array, seed: int, log: CandidateLog
) -> Program:
    given = own_problem(problem)
    both = Own(lambda data: hold_out_of_users(data[given].ratings, method.share, seed))
    rest = Own(lambda data: data[given].with_ratings(data[both][0]))
    unobserved = 0.0 if method.unobserved == "auto" else method.unobserved
    initial = ValidatedIterate(start, centre=0.0, unobserved=unobserved)
    table = yield from centred(rest, initial)
    initial = table.as_model(initial, unobserved)
    (n_held,) = yield from all_reduce(initial, lambda data: (float(data[both][1].n_values),))
    held = Own(lambda data: data[both][1].shifted(-table.statistics.centre))
    best = yield from choose(method, table, held, start.shape[1], seed, float(n_held), log)
    log.chosen = best.row
    early = yield from decide(best.last_error > (1.0 + RISE) * best.error)
    whole = yield from centred(given, table.as_model(Iterate(best.basis), best.unobserved))
    stopping = StoppingRule(method.tol, 0 if early else method.max_descent_iter)
    descent = yield from whole.descend(best.basis, best.unobserved, stopping)
    error = math.sqrt(best.error / max(float(n_held), 1.0))
    reason = (
        f"the held-out error was lowest, {error:.4g}, at rank {best.basis.shape[1]} and λ = "
        f"{best.unobserved:.4g}; {'it rose afterwards' if early else 'refitted on all entries'}"
    )
    return ProgramOutcome(whole.as_model(descent.point.iterate, best.unobserved), reason)


def centred(problem: Own[CompletesRatings], iterate: Iterate) -> Subprogram[Table]:
    """Centre the entries by the mean over all agents."""
    ratings = Own(lambda data: data[problem].ratings)
    statistics = yield from rating_statistics(ratings, iterate)
    entries = Own(lambda data: data[ratings].shifted(-statistics.centre))
    return Table(problem, entries, statistics)


def choose(
    method: "Validated",
    table: Table,
    held: Own[Ratings],
    rank: int,
    seed: int,
    n_held: float,
    log: CandidateLog,
) -> Search:
    """Return the best λ and rank; the held-out entries must be centred like the others.

    ``n_held`` is the number of held-out entries of all agents.
    """
    stopping = StoppingRule(method.tol, method.max_descent_iter)
    density = yield from agree(table.density)

    def unobserved(step: int) -> float:
        if method.unobserved != "auto":
            return method.unobserved
        alpha = density * 2.0**-step
        return alpha / (1.0 + alpha)

    def attempt(step: int, start: Array) -> Search:
        monitor = HeldOut(table.problem(unobserved(step)), held, method.n_iter_no_change)
        yield from table.descend(start, unobserved(step), stopping, monitor)
        assert monitor.best is not None  # it has seen at least the start
        best = monitor.best
        row = log.record(
            rank=best.basis.shape[1],
            regularization=unobserved(step),
            rmse=math.sqrt(best.monitored / max(n_held, 1.0)),
        )
        return Candidate(step, unobserved(step), best.basis, best.monitored, monitor.seen[-1], row)

    def search_unobserved(first: Candidate) -> Search:
        for direction in (1, -1):
            best = first
            while MIN_STEP <= best.step + direction <= MAX_STEP:
                candidate = yield from attempt(best.step + direction, best.basis)
                if not (yield from is_lower(candidate.error, best.error)):
                    break
                best = candidate
            if best is not first:
                return best
        return first

    basis, step = np.zeros((table.n_items, 0)), FIRST_STEP
    best: Candidate | None = None
    n_no_change = 0
    for size in range(1, rank + 1):
        start = yield from table.widen(basis, unobserved(step), seed)
        latest = yield from attempt(step, start)
        if method.unobserved == "auto" and (method.any_rank or size == rank):
            latest = yield from search_unobserved(latest)
        basis, step = latest.basis, latest.step
        if best is None or not method.any_rank or (yield from is_lower(latest.error, best.error)):
            best, n_no_change = latest, 0
        else:
            n_no_change += 1
        if n_no_change == N_RANKS_NO_CHANGE:
            break
    assert best is not None  # the rank is at least 1
    return best
