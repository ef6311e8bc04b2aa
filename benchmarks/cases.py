"""The paper's synthetic cases, default step, nothing tuned: ``python -m benchmarks.cases``."""

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.timing import timed

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.problems import LocalProblem

N_AGENTS, RANK = 6, 5


def measure() -> Iterator[dict[str, Any]]:
    completion = (gv.gossip.precon_stochastic(1e3, 1000), gv.gossip.precon_parallel(1e3, 400))
    small = gv.datasets.low_rank_ratings(500, 12_000, RANK, oversampling=6.0, seed=1)
    problems = [
        gv.CompletionProblem(part) for part in gv.datasets.split_users(small.ratings, N_AGENTS)
    ]
    for method in (
        *completion,
        gv.gossip.stochastic(1e3, 1000),
        gv.gossip.precon_stochastic(1e10, 1000),
    ):
        yield _one("case 4", problems, method, small.subspace)
    tasks = gv.datasets.subspace_tasks(100, 1000, RANK, seed=1)
    parts = [gv.MultitaskProblem(part) for part in gv.datasets.split_tasks(tasks.tasks, N_AGENTS)]
    yield _one("case 6", parts, gv.gossip.precon_parallel(1e3, 400), tasks.subspace)
    large = gv.datasets.low_rank_ratings(10_000, 100_000, RANK, oversampling=6.0, seed=1)
    problems = [
        gv.CompletionProblem(part) for part in gv.datasets.split_users(large.ratings, N_AGENTS)
    ]
    for method in (*completion, gv.gossip.precon_stochastic(1e10, 1000)):
        yield _one("case 1", problems, method, large.subspace)


def _one(
    case: str, problems: Sequence[LocalProblem], method: gv.Gossip, truth: Array
) -> dict[str, Any]:
    plan = gv.Plan(problems[0].n_items, RANK, gv.networks.path(N_AGENTS), method, seed=7)
    result, took = timed(lambda: gv.run(plan, problems))
    return {
        "case": case,
        "schedule": type(method.schedule).__name__,
        "preconditioner": method.preconditioner,
        "rho": method.rho,
        "max_iter": method.max_iter,
        "worst_mse": float(result.history.final()["mse"].max()),
        "neighbours_apart": result.neighbour_distance,
        "worst_from_truth": max(plan.geometry.distance(basis, truth) for basis in result.bases),
        "cpu_seconds": took.cpu,
        "wall_seconds": took.wall,
    }


def show(rows: Iterator[dict[str, Any]]) -> None:
    print("case    schedule   precond.   ρ      slots  worst MSE  apart    from U*  CPU s  wall s")
    for row in rows:
        plan = f"{row['case']}  {row['schedule']:9s}  {row['preconditioner']:9s}  {row['rho']:.0e}"
        reached = f"{row['worst_mse']:.1e}    {row['neighbours_apart']:.1e}"
        seconds = f"{row['cpu_seconds']:5.1f}  {row['wall_seconds']:5.1f}"
        print(
            f"{plan}  {row['n_slots']:4d}   {reached}  {row['worst_from_truth']:.1e}  {seconds}",
            flush=True,
        )


if __name__ == "__main__":
    show(measure())
