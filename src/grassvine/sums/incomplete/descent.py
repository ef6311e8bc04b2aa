r"""Fit a factor model to the known values of all agents, by one sum an iteration.

.. math::

    F(W, μ, ψ) = −\log p(x_o | W, μ, ψ) + ½ν Σ_i (\log ψ_i + \bar ψ_i/ψ_i)

with ν = 30 pseudo-samples of noise ψ̄_i for each feature, without which a feature could be fitted
exactly. With e_si the residual at ẑ_s, the gradients are sums over the samples whose value i is
known: Σ(e_siẑ_s + A_s⁻¹W_i)/ψ_i for W_i, Σe_si/ψ_i for μ_i, and ½Σ(1 − E[e_si²]/ψ_i) for log ψ_i.
The method is that of :mod:`grassvine.sums.biased.descent`: nonlinear conjugate gradients with
secant steps and backtracking, preconditioned by the step of expectation maximisation that takes
values to be missing independently of the factors,

.. math::

    n_i C / (nψ_i), \qquad C = Σ_s \mathrm{E}[(z_s, 1)(z_s, 1)ᵀ]

and ½(n_i + ν), where n_i of n samples have value i.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.problems.base import Problem
from grassvine.sums.incomplete.model import FactorModel, packed, unpacked
from grassvine.sums.incomplete.problem import IncompleteSamples, as_incomplete
from grassvine.sums.own import Data, Own
from grassvine.sums.program import Iterate, Subprogram, agree, all_reduce, decide

PSEUDO_SAMPLES = 30.0  # ν
ARMIJO = 1e-4
LARGEST_CHANGE = 2.0  # of the logarithm of a noise in a step


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FactorIterate(Iterate):
    """The current factor model."""

    model: FactorModel

    def arrays(self) -> dict[str, Array]:
        """Return the basis and the model as named arrays."""
        return {"basis": self.basis, **self.model.arrays()}

    def fit_to(self, problem: Problem) -> tuple[float, float]:
        """Return cost and squared error of an agent's samples."""
        evaluation = as_incomplete(problem).evaluate(self.model)
        return evaluation.cost, evaluation.squared_error


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Numbers n_i of known values and n of samples, means and variances of the known values.

    The variances are at least a tenth of their mean. Otherwise, a feature that is
    constant but for a few values would have so little noise that they determine all factors.
    """

    counts: Array
    n_samples: float
    means: Array
    variances: Array


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A model, F, and its gradient and preconditioned gradient by rows [W_i, μ_i, log ψ_i]."""

    model: FactorModel
    cost: float
    gradient: Array = field(repr=False)
    preconditioned: Array = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A search direction, the derivative along it, and its largest change of a log ψ."""

    direction: Array
    derivative: float
    change: float


@dataclass(frozen=True, slots=True)
class Secant:
    """The multiple of the last direction in the next one, and by how much steps get longer."""

    beta: float
    lengthening: float


def descend(
    own_samples: Own[IncompleteSamples],
    known: Known,
    model: FactorModel,
    basis: Array,
    tol: float,
    max_iter: int,
) -> Subprogram[FactorModel]:
    """Minimise F until an iteration reduces it by less than ``tol``, in nats."""
    target = _expected_noise(model, known)
    mse: Own[float] | None = None

    def evaluate(trial: FactorModel, seen: FactorIterate) -> Subprogram[Point]:
        nonlocal mse
        mse = error = Own[float]()

        def own(data: Data) -> tuple[Array | float, ...]:
            samples = data[own_samples]
            sums, squared_error = own_sums(samples, trial)
            data[error] = squared_error / samples.n_values if samples.n_values else math.nan
            return sums

        return _point(trial, (yield from all_reduce(seen, own)), known, target)

    seen = FactorIterate(basis, model=model)
    here = yield from evaluate(model, seen)
    line, step = _steepest(here), 1.0
    for _ in range(max_iter - 1):
        seen = replace(seen, model=here.model, cost=here.cost, mse=mse)
        step = yield from agree(min(step, LARGEST_CHANGE / max(line.change, 1e-300)))
        rounding = float(np.finfo(float).eps) * abs(here.cost)
        if not (yield from decide(-line.derivative * step > rounding)):
            break
        there = yield from evaluate(_moved(here, line, step), seen)
        excess = there.cost - here.cost - step * line.derivative
        if (yield from decide(there.cost > here.cost + ARMIJO * step * line.derivative)):
            shorter = -0.5 * step * line.derivative / max(excess, 1e-300)
            step = yield from agree(step * min(max(shorter, 0.1), 0.5))
            continue
        gain = here.cost - there.cost
        if (yield from decide(gain <= tol)):
            return there.model
        secant = _secant(here, there, line)
        beta = yield from agree(secant.beta)
        step = yield from agree(step * secant.lengthening)
        conjugate = _conjugate(there, line, beta)
        downhill = yield from decide(conjugate.derivative < 0.0)
        here, line = there, conjugate if downhill else _steepest(there)
    return here.model


def own_sums(
    samples: IncompleteSamples, model: FactorModel
) -> tuple[tuple[Array | float, ...], float]:
    """Return an agent's part of the sums, and the squared error of its samples."""
    n_features, n_factors = model.loadings.shape
    by_loadings, by_mean = np.zeros((n_features, n_factors)), np.zeros(n_features)
    squares = np.zeros(n_features)
    triangles = np.zeros((n_features, n_factors * (n_factors + 1) // 2))
    gram = np.zeros((n_factors + 1, n_factors + 1))
    cost = 0.0
    for block in model.blocks(samples.samples):
        found = model.scores(block)
        errors = (found.means @ model.loadings.T) * found.known - found.differences
        by_loadings += errors.T @ found.means
        by_mean += errors.sum(axis=0)
        squares += np.sum(errors**2, axis=0)
        triangles += found.known.T @ packed(found.covariances)
        scores = np.column_stack([found.means, np.ones(len(block))])
        gram += scores.T @ scores
        gram[:-1, :-1] += found.covariances.sum(axis=0)
        cost += 0.5 * float(
            np.sum(found.known @ np.log(model.noise))
            + np.sum(found.log_precisions)
            + np.sum(errors**2 / model.noise)
            + np.sum(found.means**2)
        )
    spread = unpacked(triangles, n_factors)  # Σ A_s⁻¹ over the samples with each value
    moved = np.matmul(spread, model.loadings[:, :, None])[:, :, 0]
    expected = squares + np.sum(moved * model.loadings, axis=1)
    rows = np.column_stack([by_loadings + moved, by_mean, expected])
    return (cost, rows, gram), float(squares.sum())


def _expected_noise(model: FactorModel, known: Known) -> Array:
    """Return ψ̄: the same share of the variance of each feature."""
    return float(np.mean(model.noise / known.variances)) * known.variances


def _point(model: FactorModel, sums: Sequence[Array], known: Known, target: Array) -> Point:
    """Return F and its gradient from the sums over all agents."""
    cost, rows, gram = sums
    noise, pseudo = model.noise, PSEUDO_SAMPLES
    total = float(cost) + 0.5 * pseudo * float(np.sum(np.log(noise) + target / noise))
    gradient = rows / noise[:, None]
    gradient[:, -1] = 0.5 * (known.counts + pseudo) - 0.5 * (rows[:, -1] + pseudo * target) / noise
    counts = np.maximum(known.counts, 1.0)
    preconditioned = np.empty_like(gradient)
    mean_gram = gram / known.n_samples
    preconditioned[:, :-1] = np.linalg.solve(mean_gram, gradient[:, :-1].T).T
    preconditioned[:, :-1] *= (noise / counts)[:, None]
    preconditioned[:, -1] = gradient[:, -1] / (0.5 * (known.counts + pseudo))
    return Point(model, total, gradient, preconditioned)


def _moved(here: Point, line: Line, step: float) -> FactorModel:
    model, change = here.model, step * line.direction
    return FactorModel(
        model.mean + change[:, -2],
        model.loadings + change[:, :-2],
        model.noise * np.exp(change[:, -1]),
    )


def _line(here: Point, direction: Array) -> Line:
    derivative = float(np.vdot(here.gradient, direction))
    return Line(direction, derivative, float(np.abs(direction[:, -1]).max()))


def _steepest(here: Point) -> Line:
    return _line(here, -here.preconditioned)


def _conjugate(there: Point, line: Line, beta: float) -> Line:
    return _line(there, beta * line.direction - there.preconditioned)


def _secant(here: Point, there: Point, line: Line) -> Secant:
    """Return the next conjugate direction and first step, from the gradients at both points."""
    curvature = float(np.vdot(there.gradient, line.direction)) - line.derivative
    if curvature <= 0.0:
        return Secant(0.0, 3.0)
    change = float(np.vdot(there.gradient - here.gradient, there.preconditioned))
    return Secant(
        beta=max(change / curvature, 0.0),
        lengthening=min(max(-line.derivative / curvature, 1 / 3), 3.0),
    )
