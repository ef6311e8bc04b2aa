"""What many agents in one process cost: ``python -m benchmarks.many_agents --help``.

CPU seconds of one thread, also relative to those of one agent, and the peak of the memory, which
is why every row has a process of its own. By default MovieLens-1M at rank 10 and a fixed
regularisation, so that every network takes the same sums. ``bayes`` is the default method for
ratings, and ``school`` the exact method with one agent for each of the 139 tasks at rank 3.
"""

import argparse
import hashlib
import math
import multiprocessing
import resource
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.timing import timed

import grassvine as gv
from grassvine.datasets import load_ratings, load_tasks

N_AGENTS = (1, 10, 100, 300, 1000)
SHAPES = ("ring", "exponential")
RANK, REGULARIZATION = 10, 30.0
SCHOOL_RANK, SCHOOL_RIDGE = 3, 0.1


@dataclass(frozen=True)
class Row:
    """The figures of a fit."""

    cpu: float
    wall: float
    sums: int
    megabytes: float
    digest: str

    def text(self, of_one: float) -> str:
        """Return the row, with its CPU seconds relative to those of one agent."""
        ratio = f"{self.cpu / of_one:6.2f}" if of_one else "     –"
        return (
            f"{self.cpu:6.2f} {ratio} {self.wall:7.2f} {self.sums:5} {self.megabytes:7.0f}"
            f"  {self.digest}"
        )


def ratings(method: str, n_agents: int) -> tuple[Any, list[Any], int, int]:
    """Return method, problems, number of items and rank for MovieLens-1M."""
    table = load_ratings("ml-1m").ratings
    parts = gv.datasets.split_users(table, n_agents)
    if method == "map":
        fit: Any = gv.sums.BiasedFactorization(regularization=REGULARIZATION)
        return fit, [gv.BiasedCompletionProblem(part) for part in parts], table.n_items, RANK
    problems = [gv.sums.BayesianCompletionProblem(part) for part in parts]
    return gv.sums.BayesianFactorization(), problems, table.n_items, RANK


def school(method: str, n_agents: int) -> tuple[Any, list[Any], int, int]:
    """Return the same for School, with at most one agent for each task."""
    tasks = load_tasks("school")
    parts = gv.datasets.split_tasks(tasks, min(n_agents, tasks.n_tasks))
    problems = [gv.MultitaskProblem(part, alpha=SCHOOL_RIDGE) for part in parts]
    return gv.Exact(), problems, tasks.n_items, SCHOOL_RANK


DATA: dict[str, Callable[[str, int], tuple[Any, list[Any], int, int]]] = {
    "map": ratings,
    "bayes": ratings,
    "school": school,
}


def measure(what: str, shape: str, n_agents: int) -> Row:
    """Fit once to compile the kernels, and again; return the figures."""
    method, problems, n_items, rank = DATA[what](what, n_agents)
    if what != "school":
        warm = gv.datasets.low_rank_ratings(50, 200, 2, oversampling=4.0, seed=1).ratings
        few = [type(problems[0])(part) for part in gv.datasets.split_users(warm, 2)]
        gv.run(gv.Plan(50, rank, gv.networks.path(2), method), few)

    def fit() -> gv.Run:
        n_linked = len(problems)
        network = getattr(gv.networks, shape if n_linked > 2 else "path")(n_linked)
        return gv.run(gv.Plan(n_items, rank, network, method, seed=0), problems)

    run, took = timed(fit)
    digest = hashlib.sha256(run.history.to_bytes())
    for state in run.states:
        for name in sorted(state):
            digest.update(state[name].tobytes())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sums = int(run.states[0]["updates"][0])
    return Row(took.cpu, took.wall, sums, peak, digest.hexdigest()[:12])


def main() -> None:
    """Print a line for each network."""
    parser = argparse.ArgumentParser(description="Cost of many agents in one process.")
    parser.add_argument("agents", nargs="*", type=int, help="by default 1 10 100 300 1000")
    parser.add_argument("--what", choices=DATA, default="map")
    parser.add_argument("--shapes", nargs="*", default=SHAPES)
    given = parser.parse_args()
    numbers = given.agents or ((1, 139) if given.what == "school" else N_AGENTS)
    print("network      agents  CPU s  ratio  wall s  sums      MB  digest of results")
    for shape in given.shapes:
        of_one = math.nan
        for n_agents in numbers:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                row = pool.apply(measure, (given.what, shape, n_agents))
            of_one = row.cpu if n_agents == 1 else of_one
            print(f"{shape:12} {n_agents:6} {row.text(of_one)}", flush=True)


if __name__ == "__main__":
    main()
