"""Case 6: synthetic multitask learning."""

import numpy as np

from grassvine.paper.case import Case, Claim, Results
from grassvine.paper.pictures import UPDATES
from grassvine.paper.synthetic_tasks import BATCH, SubspaceExperiment, SyntheticTasks
from grassvine.paper.tables import figures_table
from grassvine.paper.variants import (
    exact,
    parallel_gossip,
    precon_stochastic_gossip,
    stochastic_gossip,
)
from grassvine.report.chart import Curve, Level, Panel
from grassvine.report.figure import draw
from grassvine.report.page import Picture

RHO = 1e3
GOSSIP = stochastic_gossip(RHO)


def _claims(results: Results) -> list[Claim]:
    agents = results.where(method=GOSSIP.name).worst("distance_to_truth")
    batch = results.where(method=BATCH).worst("distance_to_truth")
    return [
        Claim(
            "All agents converge to the optimal subspace U*.",
            agents <= 1e-6,
            f"distance to U*: worst agent {agents:.1e}, batch method {batch:.1e}",
        )
    ]


def _figures(results: Results) -> list[Picture]:
    gossip = results.where(method=GOSSIP.name).first
    batch = results.where(method=BATCH).first.record.distance_to_truth
    assert batch is not None
    panel = Panel(
        "Distance to the true subspace",
        UPDATES,
        "distance to U*",
        tuple(
            Curve(
                f"agent {number + 1}", np.arange(float(len(distances))), distances, number, number
            )
            for number, distances in enumerate(gossip.traces["distance to truth"])
        ),
        (Level("batch method (pooled tasks)", batch),),
    )
    alt = "Distance of each agent's subspace to the true one, by update"
    return [Picture("case6", alt, draw([panel]), f"{GOSSIP.name}, first repeat.")]


CASE = Case(
    name="case6",
    title="Case 6: synthetic multitask learning",
    setup=(
        "1000 regressions with 10 to 50 samples of 100 features each, whose weights lie in a "
        "common subspace of dimension 5; noise of standard deviation 1e-6, λ = 0, ρ = 1e3."
    ),
    paper={"figure": "5 (a)", "tasks": 1000, "features": 100, "rank": 5, "rho": RHO},
    experiment=SubspaceExperiment(
        sizes={"paper": SyntheticTasks(100, 1000), "small": SyntheticTasks(100, 1000)},
        variants=(GOSSIP, precon_stochastic_gossip(RHO), parallel_gossip(RHO), exact()),
    ),
    claims=_claims,
    figures=_figures,
    tables=lambda results: [figures_table(results)],
    remarks=(
        "The agents stay about twice as far from U* as the batch method; this is the bias of a "
        "finite ρ and does not decrease with more updates.",
    ),
)
