"""Run one method on one set of problems and record its metrics."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.geometry import Grassmann
from grassvine.networks import path
from grassvine.paper.case import Finished, Record, Request
from grassvine.paper.variants import Variant, describe_step
from grassvine.problems import LocalProblem, Problem
from grassvine.protocol import Observer
from grassvine.runs import Plan, Run, run

# Computes further metrics of a record from the result of a run.
Score = Callable[[Run], Mapping[str, Any]]


def run_variant(
    variant: Variant,
    problems: Sequence[Problem],
    rank: int,
    *,
    dataset: str,
    repeat: int,
    request: Request,
    score: Score,
    truth: Array | None = None,
) -> Finished:
    """Run agents on a path, as in the paper, and record their metrics."""
    n_agents = len(problems)
    method = variant.method(n_agents)
    plan = Plan(
        n_items=problems[0].n_items,
        rank=rank,
        network=path(n_agents),
        method=method,
        geometry=variant.geometry,
        seed=request.seed + repeat,
    )
    with request.watch(variant.name, plan.timetable.n_slots) as observer:
        start = time.process_time()
        result = run(plan, problems, engine=request.engine, observers=_as_observers(observer))
        seconds = time.process_time() - start
    final = result.history.final()
    counts = np.array([problem.n_values for problem in problems])
    spaces = subspaces(result)
    record = Record(
        method=variant.name,
        dataset=dataset,
        repeat=repeat,
        n_agents=n_agents,
        rank=rank,
        rho=variant.rho,
        updates=int(final["update"].max()),
        # The MSE of an agent without entries is NaN.
        train_mse=float(np.nansum(final["mse"] * counts) / counts.sum()),
        worst_agent_train_mse=float(np.nanmax(final["mse"])),
        consensus_distance=max(Grassmann().distance(a, b) for a, b in pairwise(spaces)),
        messages=result.messages,
        bytes=result.bytes,
        cpu_seconds=seconds,
        distance_to_truth=None if truth is None else _largest_distance(spaces, truth),
        step=describe_step(method),
        **score(result),
    )
    return Finished(record, result.history)


def run_batch(
    name: str,
    solve: Callable[[], tuple[Array, int]],
    problem: LocalProblem,
    *,
    dataset: str,
    repeat: int,
    score: Callable[[Array], Mapping[str, Any]],
    truth: Array | None = None,
) -> Finished:
    """Run a batch method, where ``solve`` returns a basis and the number of iterations."""
    start = time.process_time()
    basis, iterations = solve()
    seconds = time.process_time() - start
    with one_blas_thread():
        error = problem.evaluate(basis).squared_error / problem.n_values
    record = Record(
        method=name,
        dataset=dataset,
        repeat=repeat,
        n_agents=1,
        rank=basis.shape[1],
        rho=None,
        updates=iterations,
        train_mse=error,
        worst_agent_train_mse=error,
        consensus_distance=0.0,
        messages=0,
        bytes=0,
        cpu_seconds=seconds,
        distance_to_truth=None if truth is None else _largest_distance([basis], truth),
        **score(basis),
    )
    return Finished(record)


def subspaces(result: Run) -> list[Array]:
    """Return the agents' bases, orthonormalised in Euclidean geometry too."""
    if isinstance(result.plan.geometry, Grassmann):
        return list(result.bases)
    return [np.linalg.qr(basis)[0] for basis in result.bases]


def _largest_distance(spaces: Sequence[Array], truth: Array) -> float:
    return max(Grassmann().distance(space, truth) for space in spaces)


def _as_observers(observer: Observer | None) -> tuple[Observer, ...]:
    return () if observer is None else (observer,)
