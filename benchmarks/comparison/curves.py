"""Error against bytes sent, for every method on the table of Case 4.

500 × 12 000, rank 5, OS 6, noise 1e-6, ten agents. The error is the distance of the worst agent's
subspace to that of one owner of all data. The paper's methods have the paper's budgets; the others
end when they are done. Nothing is tuned but the step of REXTRA.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.comparison.watch import THERE, Trace, in_megabytes, trace

import grassvine as gv
from grassvine.averaging import REXTRA, Tracked
from grassvine.baselines import rtrmc, spectral_start
from grassvine.foundations.files import write_whole
from grassvine.paper.variants import (
    Variant,
    d_lmafit,
    parallel_gossip,
    precon_parallel_gossip,
    precon_stochastic_gossip,
    stochastic_gossip,
)
from grassvine.protocol import Method
from grassvine.report.chart import Curve, Panel
from grassvine.report.figure import draw
from grassvine.report.page import Table

N_ITEMS, N_USERS, RANK, N_AGENTS, RHO = 500, 12_000, 5, 10, 1e3
DATA_SEED, START_SEED = 1, 3
GOALS = (1e-3, 1e-6, 1e-8)
REXTRA_SLOTS, REXTRA_STEPS = 500, (0.5, 1.0, 2.0)
SHOWN_FROM, POINTS = 1.0, 240  # megabytes; before, nobody is near. Evenly spaced on the axis.
FIGURE = Path(__file__).parents[2] / "docs" / "images" / "bytes.png"


@dataclass(frozen=True)
class Entrant:
    """A method under the name and the look that the figure gives it."""

    name: str
    method: Method
    style: int
    marker: int


def _of_the_paper(variant: Variant, style: int, marker: int) -> Entrant:
    return Entrant(variant.name, variant.method(N_AGENTS), style, marker)


ENTRANTS = (
    Entrant("tree sums, by rank", gv.Exact(), 0, 0),
    Entrant("tree sums, random start", gv.Exact(by_rank=False), 0, 1),
    Entrant("tracked L-BFGS", Tracked(), 1, 2),
    _of_the_paper(precon_stochastic_gossip(RHO), 3, 4),
    _of_the_paper(precon_parallel_gossip(RHO), 3, 5),
    _of_the_paper(stochastic_gossip(RHO), 4, 6),
    _of_the_paper(parallel_gossip(RHO), 4, 7),
    _of_the_paper(d_lmafit(1.0), 5, 0),
    _of_the_paper(d_lmafit(12.0), 5, 1),
)
REXTRAS = tuple(
    Entrant(f"REXTRA, αL = {step:g}", REXTRA(REXTRA_SLOTS, step), 2, 3) for step in REXTRA_STEPS
)
NETWORKS = {
    "path": gv.networks.path(N_AGENTS),
    "exponential graph": gv.networks.exponential(N_AGENTS),
}


@dataclass(frozen=True, eq=False)
class Result:
    entrant: Entrant
    network: str
    trace: Trace


def measure() -> Iterator[Result]:
    ratings = gv.datasets.low_rank_ratings(
        N_ITEMS, N_USERS, RANK, oversampling=6.0, seed=DATA_SEED
    ).ratings
    start = spectral_start(ratings, RANK, seed=DATA_SEED)
    pooled = rtrmc(gv.CompletionProblem(ratings), start, tol=1e-14).basis
    problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(ratings, N_AGENTS)]
    for name, network in NETWORKS.items():
        for entrant in (*ENTRANTS, *REXTRAS):
            plan = gv.Plan(N_ITEMS, RANK, network, entrant.method, seed=START_SEED)
            yield Result(entrant, name, trace(plan, problems, pooled))


def show() -> None:
    results = list(measure())
    for network in NETWORKS:
        print(f"\n{table([one for one in results if one.network == network]).markdown()}")
    write_whole(FIGURE, draw([panel(network, results) for network in NETWORKS]).png)
    print(f"\ndrawn: {FIGURE.name}")


def table(results: Sequence[Result]) -> Table:
    head = ("method", *(f"MB to {goal:.0e}" for goal in GOALS), "error", "MB", "slots", "CPU s")
    rows = [
        (
            one.entrant.name,
            *(in_megabytes(one.trace.megabytes_to(goal)) for goal in GOALS),
            f"{one.trace.errors[-1]:.1e}",
            f"{one.trace.megabytes[-1]:.1f}",
            str(one.trace.slots),
            f"{one.trace.cpu_seconds:.1f}",
        )
        for one in results
    ]
    return Table(head, rows, f"Ten agents on a network of the shape: {results[0].network}.")


def panel(network: str, results: Sequence[Result]) -> Panel:
    """All methods on a network; of REXTRA the step that went farthest."""
    here = [one for one in results if one.network == network]
    best = min((one for one in here if one.entrant in REXTRAS), key=_merit)
    shown = [one for one in here if one.entrant in ENTRANTS] + [best]
    return Panel(
        network,
        "MB sent by all agents",
        "worst agent's distance to the pooled subspace",
        tuple(_curve(one) for one in shown),
        log_x=True,
    )


def _merit(one: Result) -> tuple[float, float]:
    """First how near it came, if not all the way, then what that took."""
    return max(float(one.trace.errors[-1]), THERE), float(one.trace.megabytes[-1])


def _curve(one: Result) -> Curve:
    """The error after so many megabytes, at places that are evenly spaced on the axis."""
    first, last = max(SHOWN_FROM, one.trace.megabytes[0]), one.trace.megabytes[-1]
    places = np.geomspace(first, last, POINTS)
    known = np.searchsorted(one.trace.megabytes, places * (1 + 1e-12), side="right") - 1
    look = one.entrant
    name = "REXTRA, step tuned" if look in REXTRAS else look.name
    return Curve(name, places, one.trace.errors[known], look.style, look.marker)


if __name__ == "__main__":
    show()
