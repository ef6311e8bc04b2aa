"""The exact method on the paper's cases: ``python -m benchmarks.exact``.

A *rank-equivalent* sum is one of items·rank + rank² + 2 numbers: smaller and larger sums count by
their size.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.timing import timed

import grassvine as gv
from grassvine.baselines import rtrmc

RANK = 5
GRASSMANN = gv.Grassmann()


def measure() -> Iterator[dict[str, Any]]:
    yield from _case4()
    yield from _case3()


def _case4() -> Iterator[dict[str, Any]]:
    data = gv.low_rank_ratings(500, 12_000, RANK, oversampling=6.0, seed=1)
    pooled = gv.CompletionProblem(data.ratings)
    start = gv.Plan(500, RANK, gv.path(2)).start(0)
    batch = rtrmc(pooled, start, gradient_tolerance=1e-12).basis
    for n_agents in (6, 10, 20, 50):
        problems = [gv.CompletionProblem(part) for part in gv.split_users(data.ratings, n_agents)]
        for name, network in _networks(n_agents).items():
            for by_rank in (True, False):
                plan = gv.Plan(500, RANK, network, gv.Exact(by_rank=by_rank), seed=3)
                result, took = timed(lambda plan=plan, problems=problems: gv.run(plan, problems))  # type: ignore[misc]
                yield {
                    "what": f"case 4, {name} of {n_agents}, {'by rank' if by_rank else 'random'}",
                    "from_batch": max(GRASSMANN.distance(b, batch) for b in result.bases),
                    **_figures(result),
                    "cpu_seconds": took.cpu,
                }


def _case3() -> Iterator[dict[str, Any]]:
    for seed in range(10):
        data = gv.low_rank_ratings(
            5_000, 50_000, RANK, oversampling=6.0, condition=500.0, seed=seed
        )
        problems = [gv.CompletionProblem(part) for part in gv.split_users(data.ratings, 6)]
        plan = gv.Plan(5_000, RANK, gv.path(6), gv.Exact(), seed=seed)
        result, took = timed(lambda plan=plan, problems=problems: gv.run(plan, problems))  # type: ignore[misc]
        yield {
            "what": f"case 3, seed {seed}",
            "train_mse": float(result.history.final()["mse"].max()),
            "from_truth": GRASSMANN.distance(result.bases[0], data.subspace),
            **_figures(result),
            "cpu_seconds": took.cpu,
        }


def _networks(n_agents: int) -> dict[str, gv.Network]:
    return {
        "path": gv.path(n_agents),
        "ring": gv.ring(n_agents),
        "grid": gv.grid(n_agents),
        "star": gv.star(n_agents),
        "exponential": gv.exponential(n_agents),
        "random": gv.erdos_renyi(n_agents, 0.3, seed=1),
    }


def _figures(result: gv.Run) -> dict[str, Any]:
    plan = result.plan
    whole = 8 * (plan.n_items * plan.rank + plan.rank**2 + 2)
    messages_of_a_sum = 2 * (plan.network.n_agents - 1)
    return {
        "sums": int(result.history.final()["update"].max()),
        "rank_equivalent": result.bytes / messages_of_a_sum / whole,
        "megabytes": result.bytes / 1e6,
    }


def show(rows: Iterator[dict[str, Any]]) -> None:
    for row in rows:
        figures = ", ".join(f"{key} {value:.3g}" for key, value in row.items() if key != "what")
        print(f"{row['what']}: {figures}", flush=True)


if __name__ == "__main__":
    show(measure())
