"""School and Parkinsons, every task with an agent of its own; raw features, λ = 0.1 as in Case 7.

These costs have several minima. The batch that the agents are held against is therefore a trust
region that starts where they ended and goes on until no step can be distinguished from rounding.
"""

from collections.abc import Iterator

from benchmarks.exact.rows import Row, of_sums
from benchmarks.timing import timed

import grassvine as gv
from grassvine.baselines import rtrmc
from grassvine.datasets import load_tasks

RIDGE = 0.1
SETTINGS = (("school", 3), ("parkinsons", 3), ("parkinsons", 5))


def tasks(
    settings: tuple[tuple[str, int], ...] = SETTINGS, starts: tuple[int, ...] = (0, 1, 2)
) -> Iterator[Row]:
    """Return by how much the polished batch result is cheaper, as a fraction of its cost."""
    for name, rank in settings:
        given = load_tasks(name)
        pooled = gv.MultitaskProblem(given, alpha=RIDGE)
        parts = gv.datasets.split_tasks(given, given.n_tasks)
        problems = [gv.MultitaskProblem(part, alpha=RIDGE) for part in parts]
        for seed in starts:
            plan = gv.Plan(given.n_items, rank, gv.networks.path(len(parts)), gv.Exact(), seed=seed)
            result, took = timed(lambda plan=plan, problems=problems: gv.run(plan, problems))  # type: ignore[misc]
            worst = max(pooled.evaluate(basis).cost for basis in result.bases)
            polished = rtrmc(pooled, result.bases[0], tol=0.0)
            yield {
                "what": f"{name}, rank {rank}, path of {len(parts)}, start {seed}",
                "cost": worst,
                "gap_to_polished_batch": (worst - polished.cost) / polished.cost,
                "polishing_iterations": len(polished.iterations),
                **of_sums(result),
                "cpu_seconds": took.cpu,
            }
