"""Synthetic tables: Case 4 on every network, with what the paper's gossip sends; and Case 3."""

from collections.abc import Iterator

from benchmarks.exact.rows import GRASSMANN, Row, networks, of_sums, worst_distance
from benchmarks.timing import timed

import grassvine as gv
from grassvine.baselines import rtrmc
from grassvine.foundations.arrays import Array
from grassvine.paper.variants import stochastic_gossip

RANK = 5
RHO = 1e3  # of Case 4 in the paper


def case4() -> Iterator[Row]:
    """Distance from the batch subspace, and bytes."""
    data = gv.datasets.low_rank_ratings(500, 12_000, RANK, oversampling=6.0, seed=1)
    start = gv.Plan(500, RANK, gv.networks.path(2)).start(0)
    pooled = gv.CompletionProblem(data.ratings)
    batch = rtrmc(pooled, start, tol=1e-12).basis
    for n_agents in (6, 10, 20, 50):
        problems = [
            gv.CompletionProblem(part) for part in gv.datasets.split_users(data.ratings, n_agents)
        ]
        sent: list[float] = []
        for name, network in networks(n_agents).items():
            for by_rank in (True, False):
                plan = gv.Plan(500, RANK, network, gv.Exact(by_rank=by_rank), seed=3)
                result, took = timed(lambda plan=plan, problems=problems: gv.run(plan, problems))  # type: ignore[misc]
                row = {
                    "what": f"case 4, {name} of {n_agents}, {'by rank' if by_rank else 'random'}",
                    "from_batch": worst_distance(result, batch),
                    **of_sums(result),
                    "cpu_seconds": took.cpu,
                }
                sent.append(row["megabytes"])
                yield row
        if n_agents == 10:
            yield _gossip(problems, batch, max(sent))


def _gossip(problems: list[gv.CompletionProblem], batch: Array, exact: float) -> Row:
    """The paper's 200(N−1) exchanges, and the share of their bytes that the exact method sent."""
    n_agents = len(problems)
    method = stochastic_gossip(RHO).method(n_agents)
    result = gv.run(gv.Plan(500, RANK, gv.networks.path(n_agents), method, seed=3), problems)
    return {
        "what": f"case 4, path of {n_agents}, the paper's {result.n_slots} exchanges",
        "from_batch": worst_distance(result, batch),
        "messages": result.messages,
        "megabytes": result.bytes / 1e6,
        "exact_megabytes_at_most": exact,
        "exact_share": exact / (result.bytes / 1e6),
    }


def case3() -> Iterator[Row]:
    """Condition 500: train error and distance from the truth, on ten tables."""
    for seed in range(10):
        data = gv.datasets.low_rank_ratings(
            5_000, 50_000, RANK, oversampling=6.0, condition=500.0, seed=seed
        )
        problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(data.ratings, 6)]
        plan = gv.Plan(5_000, RANK, gv.networks.path(6), gv.Exact(), seed=seed)
        result, took = timed(lambda plan=plan, problems=problems: gv.run(plan, problems))  # type: ignore[misc]
        yield {
            "what": f"case 3, seed {seed}",
            "train_mse": float(result.history.final()["mse"].max()),
            "from_truth": GRASSMANN.distance(result.bases[0], data.subspace),
            **of_sums(result),
            "cpu_seconds": took.cpu,
        }
