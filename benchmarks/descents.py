"""Conjugate gradients against L-BFGS over sums, on real tasks: ``python -m benchmarks.descents``.

Both divide by the same preconditioner. Counted is what brings the cost within 1e-9 of where a trust
region ends that polishes the last point: sums, sums by their size (``rows.py``) and CPU seconds.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from benchmarks.exact.rows import GRASSMANN, Row, text
from benchmarks.exact.tasks import RIDGE, SETTINGS

import grassvine as gv
from grassvine.averaging.lbfgs import Pairs
from grassvine.baselines import rtrmc
from grassvine.datasets import load_tasks
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.sums.descent.conjugate_gradient import (
    Descent,
    DescentResult,
    Preconditioner,
    StoppingRule,
    conjugate_gradient,
)
from grassvine.sums.descent.line_search import LONGEST, ROUNDING
from grassvine.sums.descent.points import Point, evaluate
from grassvine.sums.descent.preconditioners import KroneckerPreconditioner
from grassvine.sums.own import Data, Own, own_problem
from grassvine.sums.program import Iterate, first_part, flat, next_part, shaped

STARTS = range(5)
MOST_SUMS = 600
MEMORY = 10
CLOSE = 1e-9
RULES = StoppingRule(tol=1e-11, max_iter=MOST_SUMS)


def measure() -> Iterator[Row]:
    for name, rank in SETTINGS:
        problem = gv.MultitaskProblem(load_tasks(name), alpha=RIDGE)
        for title, descend in (("CG", conjugate_gradient), ("L-BFGS", _quasi_newton)):
            starts = [
                gv.Plan(problem.n_items, rank, gv.networks.path(2), seed=k).start(0) for k in STARTS
            ]
            found = np.array([_until_close(problem, start, descend) for start in starts])
            middle = np.median(found, axis=0)
            yield {
                "what": f"{name}, rank {rank}, {title}, median of {len(starts)} starts",
                "sums": middle[0],
                "rank_equivalent": middle[1],
                "cpu_seconds": middle[2],
                "most_sums": found[:, 0].max(),
            }


def _until_close(
    problem: gv.MultitaskProblem,
    start: Array,
    descend: Callable[[Own[gv.MultitaskProblem], Array, Preconditioner, StoppingRule], Descent],
) -> tuple[float, float, float]:
    moments = sum(x.T @ x for x in problem.tasks.features) / problem.tasks.n_tasks
    preconditioner = KroneckerPreconditioner(moments + problem.alpha * np.eye(problem.n_items))
    numbers, began = 0, time.process_time()
    log: list[tuple[float, float, float]] = []  # cost, numbers sent, seconds
    with one_blas_thread():
        going, data = descend(own_problem(problem), start, preconditioner, RULES), Data(problem)
        part = first_part(going)
        while len(log) < MOST_SUMS:
            own = flat(part.of(data))
            numbers += own[0].size
            try:
                part = next_part(going, shaped(*own))
            except StopIteration:
                break
            log.append((part.iterate.cost, numbers, time.process_time() - began))
    best = rtrmc(problem, part.iterate.basis, tol=0.0).cost
    sums = next(i for i, (cost, _, _) in enumerate(log) if cost <= best * (1.0 + CLOSE))
    whole = start.size + start.shape[1] ** 2 + 2
    return sums + 1.0, log[sums][1] / whole, log[sums][2]


def _quasi_newton(
    problem: Own[gv.MultitaskProblem],
    start: Array,
    preconditioner: Preconditioner,
    stopping: StoppingRule,
) -> Descent:
    """L-BFGS with unit steps, halved while the cost rises: a sum an iteration."""
    point = yield from evaluate(problem, start, Iterate(start))
    pairs = Pairs(MEMORY)
    for iteration in range(stopping.max_iter):
        gradient, basis = point.gradient, point.basis
        inverse = partial(_inverse, preconditioner, point)
        direction = -pairs.apply(gradient, inverse)
        if np.vdot(direction, gradient) >= 0.0:
            pairs.forget()
            direction = -inverse(gradient)
        direction *= LONGEST / max(float(np.linalg.norm(direction, 2)), LONGEST)
        promised = -float(np.vdot(direction, gradient))
        rounding = ROUNDING * abs(point.cost)
        step = 1.0
        while True:
            there = yield from evaluate(
                problem, GRASSMANN.exp(basis, step * direction), point.iterate
            )
            if there.cost <= point.cost - 1e-4 * step * promised:
                break
            if step * promised <= rounding:
                break
            step *= 0.5
        if there.cost > point.cost + rounding:
            return DescentResult(
                point, iteration, "no step improves the cost any more", converged=True
            )
        pairs.carry(there.basis)
        pairs.add(
            GRASSMANN.project(there.basis, there.basis - basis),
            there.gradient - GRASSMANN.project(there.basis, gradient),
        )
        point = there
    reason = f"{stopping.max_iter} iterations were done"
    return DescentResult(point, stopping.max_iter, reason, converged=False)


def _inverse(preconditioner: Preconditioner, point: Point, tangent: Array) -> Array:
    return GRASSMANN.project(point.basis, preconditioner.apply_inverse(point, tangent))


if __name__ == "__main__":
    for row in measure():
        print(text(row), flush=True)
