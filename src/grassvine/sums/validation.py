r"""Choose λ and the rank of plain completion on entries that every agent holds out of its own.

Nothing but sums is sent: the squared error at the held-out entries of all is one more number in the
sum that yields cost and gradient, so all agents see it at every iteration and stop together.

U is orthonormal, so a user who knows a share p of the items has A_j ≈ pI, and

.. math:: S_j ∝ A_j + \frac{λ}{1−λ} I

shrinks its weights by about p / (p + λ/(1−λ)). That ratio has no unit; so λ/(1−λ) is sought among
p·2^{−k}. A ridge μ adds nothing to choose: the subspace of λ is that of μ = λ/(1−λ).

The ranks pass by from 1 upwards as in :mod:`grassvine.sums.continuation`. A descent ends when the
held-out error has not fallen for a while, and counts with its best point. At a rank that may be
chosen λ goes up or down, each descent beginning at the best point so far, until the error rises.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grassvine.data import Ratings, hold_out_of_users
from grassvine.foundations.arrays import Array
from grassvine.problems.base import CompletesRatings, Problem
from grassvine.protocol.agent import State
from grassvine.sums.conjugate_gradient import Descent, Point, StoppingRule, conjugate_gradient
from grassvine.sums.continuation import widened
from grassvine.sums.preconditioners import ItemScaling
from grassvine.sums.program import (
    Iterate,
    Program,
    ProgramOutcome,
    Subprogram,
    all_reduce,
    map_iterates,
)
from grassvine.sums.statistics import RatingStatistics, rating_statistics

if TYPE_CHECKING:
    from grassvine.sums.validated import Validated

FIRST_STEP, LEAST_STEP, MOST_STEP = 2, -4, 14  # k of λ/(1−λ) = p·2^{−k}
# A squared error is lower if it is so by more than this share: less may be rounding.
MARGIN = 2e-4
# If it rises by more than this share until a descent ends, stopping early is what kept it low.
RISE = 2e-2
RANK_PATIENCE = 2  # ranks in a row that are not better


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ValidatedIterate(Iterate):
    """The current model: a basis for the ratings less a centre, with λ."""

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
        """Return the model of an agent's state."""
        (centre,), (unobserved,) = arrays["centre"], arrays["unobserved"]
        basis = arrays["basis"].astype(np.float64)
        return cls(basis, centre=float(centre), unobserved=float(unobserved))

    def fit_to(self, problem: Problem) -> tuple[float, float]:
        """Return cost and squared error of an agent's entries, all of them, less the centre."""
        assert isinstance(problem, CompletesRatings)
        entries = problem.ratings.shifted(-self.centre)
        evaluation = problem.with_ratings(entries, unobserved=self.unobserved).evaluate(self.basis)
        return evaluation.cost, evaluation.squared_error


class HeldOut:
    """Watches a descent by the error at entries that it does not see."""

    def __init__(self, problem: CompletesRatings, held: Ratings, n_iter_no_change: int):
        self._problem, self._held, self._n_iter_no_change = problem, held, n_iter_no_change
        self._waited = 0
        self.seen: list[float] = []  # the squared errors of all agents
        self.best: Point | None = None

    def count(self, basis: Array) -> float:
        """Return the squared error at this agent's held-out entries."""
        residuals = self._problem.residuals(basis, self._held)
        return float(residuals @ residuals)

    def check(self, point: Point) -> str:
        """Keep the best point; after some that are not better, end."""
        self.seen.append(point.monitored)
        if self.best is None or is_lower(point.monitored, self.best.monitored):
            self.best, self._waited = point, 0
        else:
            self._waited += 1
        if self._waited < self._n_iter_no_change:
            return ""
        return f"the held-out error did not fall {self._waited} times running"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """An agent's entries less the mean of all agents' entries, and what all hold together."""

    given: CompletesRatings
    entries: Ratings
    statistics: RatingStatistics

    @property
    def density(self) -> float:
        """The known share of the table of all users."""
        return float(self.statistics.counts.sum()) / (
            self.entries.n_items * self.statistics.n_users
        )

    def problem(self, unobserved: float) -> CompletesRatings:
        """Return the agent's problem for a λ."""
        return self.given.with_ratings(self.entries, unobserved=unobserved)

    def descend(
        self,
        start: Array,
        unobserved: float,
        stopping: StoppingRule,
        monitor: HeldOut | None = None,
    ) -> Descent:
        """Minimise the cost of all agents for a λ."""
        # An item that nobody rated counts as rated once: its row must not move by rounding.
        shares = np.maximum(self.statistics.counts, 1.0) / self.statistics.n_users
        problem, preconditioner = self.problem(unobserved), ItemScaling(shares + unobserved)
        descending = conjugate_gradient(problem, start, preconditioner, stopping, monitor)
        return map_iterates(descending, lambda iterate: self.told(iterate, unobserved))

    def widen(self, basis: Array, unobserved: float, seed: int) -> Subprogram[Array]:
        """Add the dominant direction of what a basis leaves."""
        widening = widened(self.problem(unobserved), basis, seed)
        return map_iterates(widening, lambda iterate: self.told(iterate, unobserved))

    def told(self, iterate: Iterate, unobserved: float) -> ValidatedIterate:
        """Add centre and λ to what others see."""
        return ValidatedIterate(
            iterate.basis,
            iterate.cost,
            iterate.gradient_norm,
            centre=self.statistics.centre,
            unobserved=unobserved,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A λ, the best basis of its descent, and the squared errors held out: there, and at last."""

    step: int
    unobserved: float
    basis: Array
    error: float
    last_error: float


Trying: TypeAlias = Subprogram[Candidate]


def is_lower(error: float, than: float) -> bool:
    """Tell whether a squared error is lower by more than rounding."""
    return error < (1.0 - MARGIN) * than


def choose_and_fit(
    method: "Validated", problem: CompletesRatings, start: Array, *, seed: int
) -> Program:
    """Choose λ and the rank on a share of the entries, then go on with all of them.

    The start is the same for all agents, and its rank the highest. Where the error at the held-out
    entries would have risen by going on, all stay at the best point.
    """
    rest, held = hold_out_of_users(problem.ratings, method.share, seed)
    table = yield from centred(problem.with_ratings(rest), Iterate(start))
    (n_held,) = yield from all_reduce(Iterate(start), lambda: (float(held.n_values),))
    held = held.shifted(-table.statistics.centre)
    best = yield from choose(method, table, held, start.shape[1], seed)
    early = best.last_error > (1.0 + RISE) * best.error
    whole = yield from centred(problem, table.told(Iterate(best.basis), best.unobserved))
    stopping = StoppingRule(method.tol, 0 if early else method.max_descent_iter)
    descent = yield from whole.descend(best.basis, best.unobserved, stopping)
    error = math.sqrt(best.error / max(float(n_held), 1.0))
    reason = (
        f"the held-out error was least, {error:.4g}, at rank {best.basis.shape[1]} and λ = "
        f"{best.unobserved:.4g}; {'it rose from there' if early else 'all entries were fitted so'}"
    )
    return ProgramOutcome(whole.told(descent.point.iterate, best.unobserved), reason)


def centred(problem: CompletesRatings, iterate: Iterate) -> Subprogram[Table]:
    """Subtract the mean of all agents' entries."""
    statistics = yield from rating_statistics(problem.ratings, iterate)
    return Table(problem, problem.ratings.shifted(-statistics.centre), statistics)


def choose(method: "Validated", table: Table, held: Ratings, rank: int, seed: int) -> Trying:
    """Return the best λ and rank; the held-out entries are centred like the others."""
    stopping = StoppingRule(method.tol, method.max_descent_iter)

    def unobserved(step: int) -> float:
        if method.unobserved != "auto":
            return method.unobserved
        alpha = table.density * 2.0**-step
        return alpha / (1.0 + alpha)

    def attempt(step: int, start: Array) -> Trying:
        monitor = HeldOut(table.problem(unobserved(step)), held, method.n_iter_no_change)
        yield from table.descend(start, unobserved(step), stopping, monitor)
        assert monitor.best is not None  # it has seen the start at least
        best = monitor.best
        return Candidate(step, unobserved(step), best.basis, best.monitored, monitor.seen[-1])

    def climb(first: Candidate) -> Trying:
        for direction in (1, -1):
            best = first
            while LEAST_STEP <= best.step + direction <= MOST_STEP:
                candidate = yield from attempt(best.step + direction, best.basis)
                if not is_lower(candidate.error, best.error):
                    break
                best = candidate
            if best is not first:
                return best
        return first

    basis, step = np.zeros((table.entries.n_items, 0)), FIRST_STEP
    best: Candidate | None = None
    waited = 0
    for size in range(1, rank + 1):
        start = yield from table.widen(basis, unobserved(step), seed)
        latest = yield from attempt(step, start)
        if method.unobserved == "auto" and (method.any_rank or size == rank):
            latest = yield from climb(latest)
        basis, step = latest.basis, latest.step
        if best is None or not method.any_rank or is_lower(latest.error, best.error):
            best, waited = latest, 0
        else:
            waited += 1
        if waited == RANK_PATIENCE:
            break
    assert best is not None  # a rank is at least 1
    return best
