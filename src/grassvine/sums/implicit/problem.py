"""One agent's events: the sums that fits of implicit feedback need."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.data.split import hold_out_of_users
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.options import whole_number
from grassvine.foundations.watch import Watch
from grassvine.problems.base import Problem, as_problem_of
from grassvine.problems.blocks import Block, add_blocks, user_blocks
from grassvine.sums.implicit.model import ImplicitModel


@dataclass(frozen=True, slots=True, eq=False)
class ImplicitEvaluation:
    """One agent's part of F and of its gradient.

    Attributes
    ----------
    cost : float
        Its users' terms.
    gradient : array of shape (n_items, rank + 1)
        −Σ_j v(1 − ẑ)(w_j, s_j) at each item: half the gradient of the terms of events.
    gram : array of shape (rank + 1, rank + 1)
        Σ_j (w_j, s_j)(w_j, s_j)ᵀ; a₀X·gram is half the gradient of the terms of all pairs.
    squared_error : float
        Σ v(1 − ẑ)² over the events.
    """

    cost: float
    gradient: Array
    gram: Array
    squared_error: float


@dataclass(frozen=True, eq=False)
class ImplicitProblem:
    """What one agent's users chose: one event per pair of user and item.

    Parameters
    ----------
    events : Ratings
        The pairs with their counts or weights, all positive.
    threads : int
        Number of blocks of users processed in parallel. It does not affect the bits of a result.

    Examples
    --------
    >>> import grassvine as gv
    >>> events = gv.Ratings.from_arrays([0, 0, 1], [0, 1, 1], [1.0, 3.0, 1.0])  # counts of clicks
    >>> gv.ImplicitProblem(events).n_items
    2
    """

    events: Ratings
    threads: int = 1
    _confidences: dict[float, Array] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the counts."""
        whole_number("threads", self.threads, least=1, error=DataError)
        refuse_counts(self.events.values)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.events.n_items

    @property
    def n_values(self) -> int:
        """The number of events."""
        return self.events.n_values

    @property
    def n_active(self) -> int:
        """The number of users with events."""
        return int(np.count_nonzero(np.diff(self.events.starts)))

    def hold_out(self, share: float, seed: int) -> "tuple[ImplicitProblem, Ratings]":
        """Return the problem without a random share of its events, and those events."""
        rest, held = hold_out_of_users(self.events, share, seed)
        return ImplicitProblem(rest, self.threads), held

    def evaluate(self, model: ImplicitModel) -> ImplicitEvaluation:
        """Return cost, gradient and Gram matrix in one pass over the events."""
        width = model.factors.shape[1] + 1
        shapes = (self.n_items, width), (width, width), (2,)
        gradient, gram, totals = self._over_users(_kernels().evaluate_users, model, (), shapes)
        return ImplicitEvaluation(float(totals[0]), gradient, gram, float(totals[1]))

    def solve(self, model: ImplicitModel, watch: Watch | None = None) -> Array:
        """Return (w_j, s_j) of each user, such that X·(w_j, s_j) are the scores.

        ``watch`` is called with the completed fraction as it grows.
        """
        solutions = np.zeros((self.events.n_users, model.factors.shape[1] + 1))
        self._over_users(_kernels().solve_users, model, (*model.axes, solutions), (), watch)
        return solutions

    def item_gram(self, typical_count: float) -> Array:
        """Return the lower triangle of Σ_j v_j v_jᵀ, items×items."""
        gram = np.zeros((self.n_items, self.n_items))
        confidences = self.confidences(typical_count)
        _kernels().add_item_gram(self.events.starts, self.events.items, confidences, gram)
        return gram

    def regression_error(self, coefficients: Array, typical_count: float) -> float:
        """Return Σ(x − xB)² over the events, with the users' rows x of confidences."""
        events, confidences = self.events, self.confidences(typical_count)
        return float(
            _kernels().regression_error(events.starts, events.items, confidences, coefficients)
        )

    def confidences(self, typical_count: float) -> Array:
        """Return the confidence of each event."""
        found = self._confidences.get(typical_count)
        if found is None:
            found = np.log2(1.0 + self.events.values / typical_count)
            self._confidences.clear()
            self._confidences[typical_count] = found
        return found

    @cached_property
    def _blocks(self) -> list[Block]:
        return user_blocks(self.events)

    def _over_users(
        self,
        kernel: Callable[..., None],
        model: ImplicitModel,
        arguments: tuple[Array, ...],
        shapes: tuple[tuple[int, ...], ...],
        watch: Watch | None = None,
    ) -> list[Array]:
        """Run a kernel over all blocks and add the arrays that it fills."""
        table = _table(self.events, model, self.confidences(model.strengths.typical_count))

        def run(users: Block, sums: list[Array]) -> None:
            kernel(*users, *table, *arguments, *sums)

        return add_blocks(run, self._blocks, shapes, self.threads, watch)


def solve_few(events: Ratings, model: ImplicitModel) -> Array:
    """Return what a problem of these events would, without its checks, for users of a model."""
    solutions = np.zeros((events.n_users, model.factors.shape[1] + 1))
    table = _table(events, model, model.strengths.confidences(events))
    _kernels().solve_users(0, events.n_users, *table, *model.axes, solutions)
    return solutions


def _table(events: Ratings, model: ImplicitModel, confidences: Array) -> tuple[Any, ...]:
    """Return what kernels need of events and a model."""
    if model.n_items != events.n_items:
        raise BasisError(
            f"the model has {model.n_items} items and the events have {events.n_items}; "
            "pass a model of the same items."
        )
    strengths = model.strengths
    return (
        events.starts,
        events.items,
        confidences,
        model.rows,
        model.common,
        strengths.levels(events),
        strengths.ridges(events),
    )


def refuse_counts(counts: Array) -> None:
    """Refuse counts that are not positive and finite."""
    valid = (counts > 0.0) & np.isfinite(counts)
    if not valid.all():
        bad = np.flatnonzero(~valid)
        raise DataError(
            f"{len(bad)} of {len(counts)} counts are not positive (such as {counts[bad[0]]:g}); "
            "leave out pairs without an event, and count the others from 1."
        )


def events_of(ratings: Ratings) -> Ratings:
    """Return ratings as events of count 1."""
    return ratings.with_values(np.ones(ratings.n_values))


def problem_of_choices(ratings: Ratings) -> ImplicitProblem:
    """Return the problem of what users chose to rate, whatever their ratings are."""
    return ImplicitProblem(events_of(ratings))


def as_implicit_problem(problem: Problem) -> ImplicitProblem:
    """Return a problem of this kind; another one is refused."""
    return as_problem_of(ImplicitProblem, problem, "fits what users choose", "events")


def _kernels() -> ModuleType:
    # Importing numba takes most of a second; only fits need it.
    from grassvine.sums.implicit import _kernels

    return _kernels
