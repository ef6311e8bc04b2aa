"""Principal components of samples with missing values, as a program over sums.

First the number of factors is chosen: factor models with 0, 1, 2, 4, … factors are fitted to nine
tenths of the known values, each from the one before, until the error at the others rises. The best
is fitted to all of them. Then the components are those of the second moments expected under the
model, by the method for complete samples (:mod:`grassvine.sums.components.eigenspace`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.foundations.seeds import stream
from grassvine.sums.components.eigenspace import principal_components
from grassvine.sums.incomplete.descent import FactorIterate, Known, descend
from grassvine.sums.incomplete.model import FactorModel
from grassvine.sums.incomplete.moments import ExpectedMoments
from grassvine.sums.incomplete.problem import IncompleteSamples
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
from grassvine.sums.progress import CandidateLog, with_candidates, with_share

HELD_OUT = 0.1
MAX_FACTORS = 32
# In nats of the log-likelihood of all values; a candidate need not be as exact as the last fit.
CANDIDATE_TOL, FINAL_TOL = 1.0, 0.1
# Size of the loadings of new factors relative to the noise, together: enough to leave the saddle.
FIRST_LOADINGS = 0.3
USUAL_SUMS = 60
# Share of the mean variance of the features that each has at least, or is taken to have.
LEAST_VARIANCE = 0.1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ComponentsIterate(FactorIterate):
    """The components, the centre, UᵀCU and tr C."""

    centre: Array
    captured: Array
    squares: float

    def arrays(self) -> dict[str, Array]:
        """Return model, components and moments as named arrays."""
        return {
            **FactorIterate.arrays(self),
            "centre": self.centre,
            "captured": self.captured,
            "squares": np.array([self.squares]),
        }


def components_of_incomplete(
    problem: IncompleteSamples,
    start: Array,
    seed: int,
    *,
    share: float,
    center: bool,
    max_descent_iter: int,
    max_iter: int,
) -> Program:
    """Choose a factor model, fit it, and compute the components expected under it."""
    log = CandidateLog()
    fitting = _fit(problem, start, seed, log, share, center, max_descent_iter, max_iter)

    def estimate(iterate: Iterate) -> float:
        return log.n_sums / (log.n_sums + USUAL_SUMS)

    return with_share(with_candidates(fitting, log), estimate)


def _fit(
    problem: IncompleteSamples,
    start: Array,
    seed: int,
    log: CandidateLog,
    share: float,
    center: bool,
    max_descent_iter: int,
    max_iter: int,
) -> Program:
    n_items, own_samples = problem.n_items, own_problem(problem)
    nothing = FactorModel(np.zeros(n_items), np.zeros((n_items, 0)), np.ones(n_items))
    first = FactorIterate(start, model=nothing)
    model = yield from _chosen(own_samples, first, seed, log, max_descent_iter)
    known = yield from _known_values(own_samples, replace(first, model=model))
    require_values(known.counts)
    if model.n_factors:
        model = yield from descend(own_samples, known, model, start, FINAL_TOL, max_descent_iter)
    else:
        model = FactorModel(known.means, nothing.loadings, known.variances)
    seen = replace(first, model=model)
    centre = np.zeros(n_items)
    if center:

        def imputed(data: Data) -> tuple[Array]:
            return (model.impute(data[own_samples].samples).sum(axis=0),)

        (total,) = yield from all_reduce(seen, imputed)
        centre = total / known.n_samples
    moments = Own(lambda data: ExpectedMoments(data[own_samples].samples, model, centre))
    program = principal_components(moments, start, seed, max_iter, share)
    outcome = yield from map_iterates(program, partial(_with_basis, seen))
    found = _with_basis(seen, outcome.iterate)

    def own(data: Data) -> tuple[Array, float]:
        expected = data[moments]
        return found.basis.T @ expected.matrix_product(found.basis), expected.trace

    captured, squares = yield from all_reduce(found, own)
    ending = ComponentsIterate(
        found.basis,
        gradient_norm=found.gradient_norm,
        model=model,
        centre=centre,
        captured=captured,
        squares=float(squares),
    )
    factors = f"{model.n_factors} factors" if model.n_factors != 1 else "1 factor"
    return ProgramOutcome(ending, f"missing values follow from {factors}; {outcome.reason}")


def _with_basis(seen: FactorIterate, iterate: Iterate) -> FactorIterate:
    return replace(seen, basis=iterate.basis, gradient_norm=iterate.gradient_norm)


def _chosen(
    problem: Own[IncompleteSamples],
    first: FactorIterate,
    seed: int,
    log: CandidateLog,
    max_iter: int,
) -> Subprogram[FactorModel]:
    """Return the model that predicts held-out values best; its noise may be that of no factors."""
    both = Own(lambda data: data[problem].hold_out(HELD_OUT, seed))
    rest = Own(lambda data: data[both][0])
    known = yield from _known_values(rest, first)
    model = _without_factors(known)
    most = int((yield from agree(min(MAX_FACTORS, known.n_samples - 1, len(known.means) - 1))))
    best, lowest = model, math.inf
    for n_factors in _numbers_of_factors(most):
        if n_factors:
            rng = stream(seed, "start", "factors", n_factors)
            model = _with_more_factors(model, n_factors, known, rng.standard_normal)
            model = yield from descend(rest, known, model, first.basis, CANDIDATE_TOL, max_iter)
        error, count = yield from all_reduce(
            replace(first, model=model), partial(_held_out_error, both, model)
        )
        mean = float(error) / max(float(count), 1.0)
        row = log.record(rank=n_factors, rmse=math.sqrt(mean))
        if (yield from decide(mean < lowest)):
            best, lowest, log.chosen = model, mean, row
        elif n_factors > 1:  # the second factor may help where the first alone does not
            break
    return best


def _numbers_of_factors(most: int) -> list[int]:
    """Return 0, 1, 2, 4, … up to ``most``."""
    powers = [1 << power for power in range(most.bit_length())] if most > 0 else []
    return [0, *powers, *([most] if powers and powers[-1] < most else [])]


def _held_out_error(
    both: Own[tuple[IncompleteSamples, Array]], model: FactorModel, data: Data
) -> tuple[float, float]:
    (rest, held), squares = data[both], 0.0
    for first in range(0, len(held), 4096):
        rows = slice(first, first + 4096)
        errors = model.impute(rest.samples[rows]) - held[rows]
        squares += float(np.nansum(errors**2))
    return squares, float(np.count_nonzero(~np.isnan(held)))


def _without_factors(known: Known) -> FactorModel:
    return FactorModel(known.means, np.zeros((len(known.means), 0)), known.variances)


def _with_more_factors(
    model: FactorModel, n_factors: int, known: Known, draw: Callable[[tuple[int, int]], Array]
) -> FactorModel:
    """Return the model with further factors of small random loadings."""
    n_new = n_factors - model.n_factors
    directions = np.linalg.qr(draw((len(model.mean), n_new)))[0]
    size = FIRST_LOADINGS * math.sqrt(len(model.mean) / n_new)
    # Features without values in this part have no gradient, and are 0 until all are fitted.
    deviations = np.where(known.counts > 0.0, np.sqrt(model.noise), 0.0)
    new = size * deviations[:, None] * directions
    return FactorModel(model.mean, np.hstack([model.loadings, new]), model.noise)


def _known_values(own_samples: Own[IncompleteSamples], iterate: Iterate) -> Subprogram[Known]:
    """Sum counts, means and variances of the known values."""

    def sums(data: Data) -> tuple[Array, Array, float]:
        values = data[own_samples].samples
        counts = np.count_nonzero(~np.isnan(values), axis=0).astype(np.float64)
        return counts, np.nansum(values, axis=0), float(len(values))

    counts, totals, n_samples = yield from all_reduce(iterate, sums)
    means = totals / np.maximum(counts, 1.0)

    def own(data: Data) -> tuple[Array]:
        return (np.nansum((data[own_samples].samples - means) ** 2, axis=0),)

    (squares,) = yield from all_reduce(iterate, own)
    return _as_known(counts, float(n_samples), means, squares)


def _as_known(counts: Array, n_samples: float, means: Array, squares: Array) -> Known:
    variances = squares / np.maximum(counts, 1.0)
    # Where nothing varies there are only rounding errors, or nothing at all.
    least = np.maximum(LEAST_VARIANCE * float(variances.mean()), 1e-24 * means**2)
    return Known(counts, n_samples, means, np.maximum(variances, np.where(least > 0.0, least, 1.0)))


def require_values(counts: Array) -> None:
    """Refuse features without any value."""
    if not counts.all():
        place = int(np.flatnonzero(counts == 0.0)[0])
        raise DataError(
            f"feature {place} (counting from 0) has no known value in any sample; remove it."
        )
