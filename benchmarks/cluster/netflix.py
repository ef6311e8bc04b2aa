"""A table of Netflix's size on one machine: ``python -m benchmarks.cluster netflix``.

Eight agents draw their parts where they live. Seconds per all-reduce are held against the bare
kernel: the same passes over the same parts in as many plain processes as there are processors,
without messages, manifold or Ray.
"""

import multiprocessing
import os
import time
from typing import Any

import numpy as np
from benchmarks.cluster.netflix_like import N_ITEMS, NetflixLike
from benchmarks.cluster.processes import (
    actor_gigabytes,
    cpu_seconds,
    memory_watch,
    own_peak_gigabytes,
)

import grassvine as gv
from grassvine.foundations.blas import one_blas_thread
from grassvine.protocol import StepReport

RANK, N_AGENTS, N_SUMS = 10, 8, 20


class Stopwatch:
    """Notes when the first and the last report came, of the wall and of all processors."""

    only_watches = True

    def __init__(self, n_slots: int) -> None:
        self._last_slot = n_slots - 1
        self._marks: list[tuple[float, float]] = []
        self.actors: list[float] = []  # gigabytes of each at the last slot

    def __call__(self, report: StepReport) -> None:
        over = report.slot == self._last_slot
        if len(self._marks) < 1 + over:
            self._marks.append((time.perf_counter(), cpu_seconds()))
            self.actors = actor_gigabytes()

    def seconds(self) -> tuple[float, float]:
        """Return the seconds between, of the wall and of the processors."""
        (began, cpu_before), (ended, cpu_after) = self._marks
        return ended - began, cpu_after - cpu_before


def measure() -> dict[str, Any]:
    plan = gv.Plan(
        N_ITEMS, RANK, gv.networks.ring(N_AGENTS), gv.Exact(by_rank=False, max_iter=N_SUMS)
    )
    parts = [NetflixLike(number, N_AGENTS) for number in range(N_AGENTS)]
    bare = bare_passes(parts, plan.start(0))
    processors = len(os.sched_getaffinity(0))
    rows = [on_ray(plan, parts, each) for each in (1, -(-N_AGENTS // processors))]
    return {"bare": bare, "rows": rows}


def on_ray(plan: gv.Plan, parts: list[NetflixLike], agents_per_actor: int) -> dict[str, Any]:
    watch = Stopwatch(plan.timetable.n_slots)
    engine = gv.RayEngine(agents_per_actor=agents_per_actor)
    began = time.perf_counter()
    with memory_watch() as snapshot:
        run = gv.run(plan, parts, engine=engine, observers=[watch])
    wall, cpu = watch.seconds()
    return {
        "sums": int(run.states[0]["updates"][0]),
        "costs": _ends(run),
        "wall": wall / N_SUMS,
        "cpu": cpu / N_SUMS,
        "all in all": time.perf_counter() - began,
        "actors": watch.actors,
        "peak of all": snapshot["gigabytes"],
        "peak of driver": own_peak_gigabytes(),
    }


def _ends(run: gv.Run) -> tuple[float, float]:
    """Return the first and the last cost of all that agents knew of."""
    costs = run.history.of_agent(0)["cost"][:-1]
    known = costs[np.isfinite(costs)]
    return float(known[0]), float(known[-1])


def bare_passes(parts: list[NetflixLike], basis: np.ndarray, repeats: int = 3) -> dict[str, float]:
    """Time passes over all parts in plain processes; the best of some, of the wall."""
    processors = len(os.sched_getaffinity(0))
    fork = multiprocessing.get_context("spawn")
    barrier = fork.Barrier(processors)
    with fork.Pool(processors, _settle, (barrier,)) as pool:
        shares = [(parts[k::processors], basis, repeats) for k in range(processors)]
        found = pool.map(_passes, shares, chunksize=1)
    return {
        "n_ratings": sum(one["n_ratings"] for one in found),
        "evaluate": max(one["evaluate"] for one in found),
        "hessian": max(one["hessian"] for one in found),
    }


_together: Any = None  # the barrier of a process of the pool


def _settle(barrier: Any) -> None:
    global _together
    _together = barrier


def _passes(share: tuple[list[NetflixLike], np.ndarray, int]) -> dict[str, float]:
    parts, basis, repeats = share
    problems = [part() for part in parts]
    direction = np.random.default_rng(0).standard_normal(basis.shape)
    found = {"n_ratings": float(sum(problem.n_values for problem in problems))}
    with one_blas_thread():
        for name in ("evaluate", "hessian"):
            seconds = []
            for _ in range(1 + repeats):  # the first compiles
                _together.wait()
                began = time.perf_counter()
                for problem in problems:
                    if name == "evaluate":
                        problem.evaluate(basis)
                    else:
                        problem.hessian_product(basis, direction)
                seconds.append(time.perf_counter() - began)
            found[name] = min(seconds[1:])
    return found


def show(found: dict[str, Any]) -> None:
    bare = found["bare"]
    # From the first sum on there are as many evaluations as products with the Hessian.
    a_pass = (bare["evaluate"] + bare["hessian"]) / 2
    print(
        f"{bare['n_ratings'] / 1e6:.1f} M ratings, {N_ITEMS} items, rank {RANK}, {N_AGENTS} agents"
        f"\nbare kernel: {bare['evaluate']:.2f} s wall an evaluation, {bare['hessian']:.2f} s a "
        f"product with the Hessian; {a_pass:.2f} s a pass"
    )
    for row in found["rows"]:
        print(
            f"\n{len(row['actors'])} actors: {row['sums']} sums, cost {row['costs'][0]:.6g} to "
            f"{row['costs'][1]:.6g}, {row['all in all']:.0f} s with drawing the ratings"
            f"\na sum: {row['wall']:.2f} s wall, {row['cpu']:.2f} s CPU of all processes; against "
            f"the bare kernel {row['wall'] / a_pass:.2f}"
            f"\nmemory: an actor {min(row['actors']):.2f} to {max(row['actors']):.2f} GB at the"
            f" last sum; at the most {row['peak of all']:.1f} GB in all,"
            f" {row['peak of driver']:.2f} GB the driver"
        )
