"""Case 3: ill-conditioned tables."""

from grassvine.paper.case import Case, Claim, Results
from grassvine.paper.completion import CompletionExperiment, LowRankTable
from grassvine.paper.curves import value_at
from grassvine.paper.pictures import error_and_agreement
from grassvine.paper.tables import figures_table
from grassvine.paper.variants import exact, precon_stochastic_gossip, stochastic_gossip

RHO, CONDITION = 1e3, 500.0
PLAIN, PRECONDITIONED = stochastic_gossip(RHO), precon_stochastic_gossip(RHO)
EARLY = 50


def _claims(results: Results) -> list[Claim]:
    plain, precon = (results.where(method=v.name) for v in (PLAIN, PRECONDITIONED))
    early = [value_at(runs.first, 1, "mse", EARLY) for runs in (plain, precon)]
    late = [runs.mean("train_mse") for runs in (plain, precon)]
    apart = [runs.worst("consensus_distance") for runs in (plain, precon)]
    initial = [value_at(runs.first, 0, "distance", 0) for runs in (plain, precon)]
    return [
        Claim(
            "In the initial updates, the preconditioned variant minimises the completion term "
            "aggressively.",
            early[1] < early[0],
            f"MSE of agent 2 after {EARLY} updates: {early[0]:.1e} without preconditioning, "
            f"{early[1]:.1e} with it",
        ),
        Claim(
            "Precon Gossip performs better than Stochastic Gossip on ill-conditioned data.",
            late[1] < late[0],
            f"final train MSE {late[0]:.1e} without preconditioning, {late[1]:.1e} with it; "
            "neither finds the subspace",
        ),
        Claim(
            "The agents eventually reach consensus.",
            max(apart) <= 1e-3,
            f"neighbours {apart[0]:.1e} and {apart[1]:.1e} apart at the end, "
            f"{initial[0]:.1f} and {initial[1]:.1f} at the start",
        ),
    ]


CASE = Case(
    name="case3",
    title="Case 3: an ill-conditioned table",
    setup=(
        "A table of rank 5 whose singular values decay exponentially by a factor of 500, "
        "oversampling 6, ρ = 1e3. The paper's table is 5 000 × 50 000."
    ),
    paper={"figure": "2 (e), (f)", "table": "5000 × 50000", "rank": 5, "condition": CONDITION},
    experiment=CompletionExperiment(
        tables={
            "paper": LowRankTable(5_000, 50_000, condition=CONDITION),
            "small": LowRankTable(500, 5_000, condition=CONDITION),
        },
        methods=(PLAIN, PRECONDITIONED, exact()),
    ),
    claims=_claims,
    figures=lambda results: [
        error_and_agreement("case3", results, [PLAIN.name, PRECONDITIONED.name])
    ],
    tables=lambda results: [figures_table(results)],
    remarks=(
        "No gossip rule that we tried recovers this subspace from random starts: some directions "
        "end up on single items. The exact method, which increases the rank step by step, does.",
        "The largest singular value is √(mn), so the entries are of order one.",
    ),
)
