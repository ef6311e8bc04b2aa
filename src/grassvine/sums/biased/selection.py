"""Choose rank and regularisation of the model with biases on entries that every agent holds out.

Only sums are sent. With n/m ratings per item and n/u per user of standard deviation σ, the singular
values of pure noise are at most about σ(√(n/m) + √(n/u)), and the nuclear norm suppresses those
below μ. So μ is sought as a multiple of that scale. The search starts at 1 and goes down by √2
while the held-out error falls, each fit starting at the previous solution; if the first step does
not help it goes up instead, so that the best candidate lies inside the grid. μ_b has no unit; it is
searched in the same way by factors of 3. The model of the biases alone is always a candidate, and
factors must beat it by more than one standard error.
The best candidate is fitted again to all entries.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, as_matrix
from grassvine.sums.biased.descent import (
    BiasedIterate,
    StoppingCriteria,
    first_model,
    initial_iterate,
    minimise,
)
from grassvine.sums.biased.problem import BiasedCompletionProblem, BiasedModel
from grassvine.sums.own import Data, Own, own_problem
from grassvine.sums.program import (
    Program,
    ProgramOutcome,
    Subprogram,
    agree,
    all_reduce,
    decide,
)
from grassvine.sums.progress import CandidateLog, selection_share, with_candidates, with_share
from grassvine.sums.statistics import rating_statistics

# Where the searches start, the ratio of neighbouring candidates, and the ends of the grids.
STRENGTH, STRENGTH_RATIO, STRENGTHS = 1.0, math.sqrt(2.0), (2.0**-6, 2.0**4)
BIAS_REGULARIZATION, BIAS_RATIO, BIAS_REGULARIZATIONS = 3.0, 3.0, (0.1, 300.0)
# A larger rank must reduce the held-out error by more than this fraction.
MARGIN = 1e-4
# Factors near 0 are a stationary point, from which rounding errors would grow differently for each
# division of the users: every fit starts a little towards the common starting point.
PERTURBATION = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A multiple of the noise scale, the fitted iterate, and its held-out mean squared error."""

    strength: float
    iterate: BiasedIterate
    error: float
    row: int  # in the table of candidates

    @property
    def model(self) -> BiasedModel:
        """The fitted model."""
        return self.iterate.model


Trial: TypeAlias = Subprogram[Candidate]


def choose_biased(
    problem: BiasedCompletionProblem,
    start: Array,
    *,
    ranks: Sequence[int] = (),
    share: float = 0.1,
    seed: int = 0,
    criteria: StoppingCriteria | None = None,
) -> Program:
    """Choose μ, μ_b and the rank on held-out entries, then fit to all entries.

    Parameters
    ----------
    problem : BiasedCompletionProblem
        The entries of this agent's users.
    start : array of shape (n_items, rank)
        Orthonormal, the same for all agents; smaller ranks start at its first columns.
    ranks : sequence of int, optional
        The candidates, besides the biases alone; by default the rank of the start. If one rank is
        given the model keeps it, and its factors are 0 if the biases alone validate best.
    share : float
        The share of entries that every agent holds out.
    seed : int
        Random seed of the split.
    criteria : StoppingCriteria, optional
        When to stop each fit.
    """
    start = as_matrix(start, n_items=problem.n_items, name="start", allow_empty=True)
    log = CandidateLog()
    choosing = _choose(problem, start, ranks, share, seed, criteria or StoppingCriteria(), log)
    share_done = selection_share(ranks or (start.shape[1],), log)
    return with_candidates(with_share(choosing, share_done), log)


def _choose(
    problem: BiasedCompletionProblem,
    start: Array,
    ranks: Sequence[int],
    share: float,
    seed: int,
    criteria: StoppingCriteria,
    log: CandidateLog,
) -> Program:
    given = own_problem(problem)
    both = Own(lambda data: data[given].hold_out(share, seed))
    rest, held = Own(lambda data: data[both][0]), Own(lambda data: data[both][1])
    initial = initial_iterate(start, STRENGTH, BIAS_REGULARIZATION)
    statistics = yield from rating_statistics(Own(lambda data: data[rest].ratings), initial)

    def fit(model: BiasedModel, strength: float, bias_regularization: float) -> Trial:
        first = replace(
            model,
            regularization=(yield from agree(strength * statistics.noise_scale)),
            bias_regularization=bias_regularization,
        )
        iterate, _ = yield from minimise(rest, statistics, first, criteria)

        def own(data: Data) -> tuple[float, float]:
            tested = data[held]
            residuals = data[rest].predict(iterate.model, tested) - tested.values
            return float(residuals @ residuals), float(tested.n_values)

        error, count = yield from all_reduce(iterate, own)
        mean = float(error) / max(float(count), 1.0)
        row = log.record(
            rank=iterate.model.factors.shape[1],
            regularization=iterate.model.regularization,
            bias_regularization=iterate.model.bias_regularization,
            rmse=math.sqrt(mean),
        )
        return Candidate(strength, iterate, mean, row)

    def choose_bias_regularization(best: Candidate) -> Trial:
        def other(value: float, best: Candidate) -> Trial:
            return fit(best.model, best.strength, value)

        grid = BIAS_RATIO, BIAS_REGULARIZATIONS
        return search(best, best.model.bias_regularization, *grid, other)

    def at_rank(rank: int, bias_regularization: float) -> Trial:
        first = first_model(start[:, :rank], statistics, 1.0, bias_regularization)

        def other(strength: float, best: Candidate) -> Trial:
            factors = best.model.factors + PERTURBATION * first.factors
            nearby = replace(best.model, factors=factors)
            return fit(nearby, strength, bias_regularization)

        best = yield from fit(first, STRENGTH, bias_regularization)
        best = yield from search(best, STRENGTH, STRENGTH_RATIO, STRENGTHS, other)
        # Where μ_b is too large, one more factor may stand in for the biases.
        return (yield from choose_bias_regularization(best))

    alone = yield from fit(
        first_model(start[:, :0], statistics, 1.0, BIAS_REGULARIZATION),
        STRENGTH,
        BIAS_REGULARIZATION,
    )
    alone = yield from choose_bias_regularization(alone)
    best: Candidate | None = None
    for rank in ranks or (start.shape[1],):
        if rank:
            candidate = yield from at_rank(rank, alone.model.bias_regularization)
            if best is None or (yield from decide(candidate.error < (1 - MARGIN) * best.error)):
                best = candidate
    if best is None or not (yield from is_better(rest, held, best, alone)):
        log.chosen = alone.row
        first = alone.model
        if best is not None and len(ranks) < 2:  # keep the given rank
            first = replace(first, factors=np.zeros_like(best.model.factors))
        return (yield from _fit_all(given, first, alone, criteria))
    log.chosen = best.row
    return (yield from _fit_all(given, best.model, best, criteria))


def is_better(
    rest: Own[BiasedCompletionProblem],
    held: Own[Ratings],
    candidate: Candidate,
    alone: Candidate,
) -> Subprogram[bool]:
    """Decide whether a candidate beats the biases alone by more than one standard error.

    The standard error is that of the mean difference of squared errors over the held-out entries.
    A smaller gain may be random, and on sparse tables it usually is.
    """

    def own(data: Data) -> tuple[float, float, float]:
        tested = data[held]
        errors = [
            (data[rest].predict(one.model, tested) - tested.values) ** 2
            for one in (candidate, alone)
        ]
        gains = errors[1] - errors[0]
        return float(gains.sum()), float(gains @ gains), float(tested.n_values)

    total, squares, count = yield from all_reduce(candidate.iterate, own)
    n_held = max(float(count), 1.0)
    mean = float(total) / n_held
    variance = max(float(squares) / n_held - mean * mean, 0.0)
    return (yield from decide(mean > math.sqrt(variance / n_held)))


def search(
    best: Candidate,
    at: float,
    ratio: float,
    bounds: tuple[float, float],
    fit: Callable[[float, Candidate], Trial],
) -> Trial:
    """Search from a value while the held-out error falls: first downwards, otherwise upwards.

    Parameters
    ----------
    best : Candidate
        The candidate at the first value.
    at : float
        The first value.
    ratio : float
        The ratio of neighbouring values.
    bounds : pair of floats
        Values outside are not tried.
    fit : function
        Returns the candidate at a value, given the best one so far.
    """
    for values in (_grid(at, 1.0 / ratio, bounds), _grid(at, ratio, bounds)):
        before = best
        for value in values:
            candidate = yield from fit(value, best)
            if not (yield from decide(candidate.error < best.error)):
                break
            best = candidate
        if best is not before:
            return best
    return best


def most_sums(criteria: StoppingCriteria, n_ranks: int) -> int:
    """Return an upper bound on the number of sums of :func:`choose_biased`."""
    n_strengths = sum(1 for _ in _both(STRENGTH, STRENGTH_RATIO, STRENGTHS))
    n_biases = sum(1 for _ in _both(BIAS_REGULARIZATION, BIAS_RATIO, BIAS_REGULARIZATIONS))
    n_candidates = 1 + n_biases + n_ranks * (1 + n_strengths + n_biases)
    return 3 + n_candidates * (criteria.max_iter + 1) + criteria.max_iter


def _fit_all(
    problem: Own[BiasedCompletionProblem],
    first: BiasedModel,
    best: Candidate,
    criteria: StoppingCriteria,
) -> Program:
    """Fit the chosen model to all entries."""
    # The candidate's cost is that of a part of the entries, not comparable with those to come.
    chosen = replace(best.iterate, cost=math.nan, gradient_norm=math.nan)
    statistics = yield from rating_statistics(Own(lambda data: data[problem].ratings), chosen)
    regularization = yield from agree(best.strength * statistics.noise_scale)
    first = replace(first, centre=statistics.centre, regularization=regularization)
    iterate, reason = yield from minimise(problem, statistics, first, criteria)
    return ProgramOutcome(iterate, reason)


def _both(at: float, ratio: float, bounds: tuple[float, float]) -> Iterator[float]:
    yield from _grid(at, 1.0 / ratio, bounds)
    yield from _grid(at, ratio, bounds)


def _grid(at: float, ratio: float, bounds: tuple[float, float]) -> Iterator[float]:
    slack = 1.0 + 1e-9
    value = at * ratio
    while bounds[0] / slack <= value <= bounds[1] * slack:
        yield value
        value *= ratio
