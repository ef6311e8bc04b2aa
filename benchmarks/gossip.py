"""Gossip beside pooled data: ``python -m benchmarks.gossip [ratings] [demo] [figure]``.

``ratings``: MovieLens-100K at rank 5, a fifth held out, 6 and 20 agents on a ring, three seeds, the
default settings of the estimator; RMSE of every agent's subspace relative to the pooled one.
``demo``: the digits of ``grassvine demo``, likewise. ``figure``: the bias of a finite ρ and the
twist, for docs/gossip.md.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from benchmarks.timing import timed

import grassvine as gv
from grassvine.demo import compare, masked_digits, one_kind_each
from grassvine.demo.comparison import RANK, UNOBSERVED
from grassvine.fits.rating_formulations import PAPER_REGULARIZATION, subspace_part
from grassvine.foundations.arrays import Array
from grassvine.foundations.files import write_whole
from grassvine.gossip import with_growing_rho
from grassvine.models import RatingsModel
from grassvine.report.chart import Curve, Panel
from grassvine.report.figure import draw
from grassvine.runs import Run

AGENTS, SEEDS = (6, 20), (0, 1, 2)
FIGURE = Path(__file__).parents[1] / "docs" / "images" / "gossip.png"
N_BIAS, N_TWIST = 6, 10  # agents in the figure
POINTS = 100


def ratings() -> Iterator[str]:
    table = gv.datasets.read_ratings("ml-100k")
    for n_agents in AGENTS:
        for seed in SEEDS:
            train, test = table.hold_out(0.2, seed)
            exact = gv.MatrixCompleter(
                5,
                method="exact-subspace",
                regularization=PAPER_REGULARIZATION,
                random_state=seed,
            )
            pooled = exact.fit(train).errors(test)["rmse"]
            model = gv.MatrixCompleter(5, method="gossip", agents=n_agents, random_state=seed)
            _, took = timed(lambda m=model, t=train: m.fit(t))  # type: ignore[misc]
            excess = []
            for basis in model.subspaces_:
                part = subspace_part(train, basis, train.mean(), PAPER_REGULARIZATION)
                users = part.users_from(train.users, train.ratings)
                exact.model_ = RatingsModel(part, users)
                excess.append(exact.errors(test)["rmse"] / pooled - 1.0)
            yield _row("ml-100k", n_agents, seed, model.agreement_, excess, took.cpu)


def demo() -> Iterator[str]:
    for n_agents in AGENTS:
        for seed in SEEDS:
            shares = one_kind_each(masked_digits(seed=seed), n_agents, seed)
            found, took = timed(lambda s=shares, k=seed: compare(s, k))  # type: ignore[misc]
            excess = found.errors("gossip") / found.error("pooled") - 1.0
            yield _row("demo", n_agents, seed, found.gossip.agreement_degrees, excess, took.cpu)


def _row(
    name: str, n_agents: int, seed: int, degrees: float, excess: Sequence[float] | Array, cpu: float
) -> str:
    return (
        f"{name}, N = {n_agents}, seed {seed}: worst agent {max(excess):+.2%} of pooled, "
        f"neighbours {degrees:.2f} degrees apart, {cpu:.0f} CPU s"
    )


def figure() -> Iterator[str]:
    write_whole(FIGURE, draw([_bias(), _twist()]).png)
    yield f"drawn: {FIGURE.name}"


def _bias() -> Panel:
    """The largest angle between neighbours during the run, for constant and growing ρ."""
    shares = one_kind_each(masked_digits(), N_BIAS)
    problems = [gv.CompletionProblem(part.ratings(), UNOBSERVED) for part in shares.parts]
    squares = sum(float(np.sum(part.pixels[part.known] ** 2)) for part in shares.parts)
    growing = with_growing_rho(squares, N_BIAS)
    methods = {
        "ρ = S/(20N)": replace(growing, rho=0.05 * squares / N_BIAS),
        "ρ grows from S/(20N) to S": growing,
    }
    network = gv.networks.ring(N_BIAS)
    curves = []
    for style, (name, method) in enumerate(methods.items()):
        plan = gv.Plan(problems[0].n_items, RANK, network, method)
        history = gv.run(plan, problems).history
        places, angles = _recent(history["slot"], history["distance"], method.max_iter)
        curves.append(Curve(name, places, angles, style, style))
    return Panel(
        "The bias: 6 agents, one digit each",
        "slot",
        "largest angle between neighbours (degrees)",
        tuple(curves),
    )


def _recent(slots: Array, distances: Array, n_slots: int) -> tuple[Array, Array]:
    """Return the largest distance in each of ``POINTS`` stretches of the run, in degrees."""
    ends = np.linspace(0, n_slots, POINTS + 1)
    largest = [
        np.nanmax(distances[(slots >= first) & (slots < last)]) for first, last in pairwise(ends)
    ]
    return ends[1:], np.degrees(largest)


def _twist() -> Panel:
    """The angle by which a direction has turned on the way round the ring."""
    problems = [gv.PCAProblem(np.diag([1.1, 1.0, 1.0])) for _ in range(N_TWIST)]
    common = with_growing_rho(N_TWIST * 3.21, N_TWIST, max_iter=40)
    network = gv.networks.ring(N_TWIST)

    def run(method: gv.Gossip, seed: int) -> Run:
        return gv.run(gv.Plan(3, 1, network, method, seed=seed), problems)

    own = (run(replace(common, start="own"), seed) for seed in range(50))
    twisted = next(found for found in own if _turned(found)[-1] > 90.0)
    curves = tuple(
        Curve(name, np.arange(N_TWIST + 1.0), _turned(found), style, style)
        for style, (name, found) in enumerate(
            {"own starts": twisted, "common start": run(common, twisted.plan.seed)}.items()
        )
    )
    return Panel(
        f"The twist: {N_TWIST} agents, lines in space",
        "links walked round the ring",
        "angle to the direction of agent 0 (degrees)",
        curves,
        log_y=False,
    )


def _turned(found: Run) -> Array:
    """Follow the direction of agent 0 from neighbour to neighbour, without a jump of sign."""
    first = here = found.bases[0][:, 0]
    angles = [0.0]
    for basis in (*found.bases[1:], found.bases[0]):
        here = basis[:, 0] * math.copysign(1.0, float(here @ basis[:, 0]))
        angles.append(math.degrees(math.acos(min(1.0, max(-1.0, float(first @ here))))))
    return np.array(angles)


if __name__ == "__main__":
    parts = {"ratings": ratings, "demo": demo, "figure": figure}
    for chosen in sys.argv[1:] or parts:
        for line in parts[chosen]():
            print(line, flush=True)
