"""Case 1: the effect of ρ."""

from dataclasses import replace

from grassvine.paper.case import Case, Claim, Results
from grassvine.paper.completion import NOISE_FLOOR, CompletionExperiment, LowRankTable
from grassvine.paper.pictures import error_and_agreement
from grassvine.paper.tables import figures_table, format_power
from grassvine.paper.variants import Variant, exact, precon_stochastic_gossip, stochastic_gossip

MODERATE, HUGE = 1e3, 1e10
CONSENSUS = 1e-5  # largest distance that counts as consensus


def _named(variant: Variant, rho: float) -> Variant:
    return replace(variant, name=f"{variant.name}, ρ={format_power(rho)}")


BALANCED, CONSENSUS_ONLY = (_named(stochastic_gossip(rho), rho) for rho in (MODERATE, HUGE))


def _claims(results: Results) -> list[Claim]:
    both = results.where(method=BALANCED.name)
    error, apart = both.worst("worst_agent_train_mse"), both.worst("consensus_distance")
    only = results.where(method=CONSENSUS_ONLY.name)
    kept, near = float(only.values("train_mse").min()), only.worst("consensus_distance")
    return [
        Claim(
            "With ρ = 1e3 the agents reach a low MSE as well as consensus.",
            error <= NOISE_FLOOR and apart <= CONSENSUS,
            f"worst agent's MSE {error:.1e} at a noise variance of {NOISE_FLOOR:.0e}; "
            f"neighbours {apart:.1e} apart",
        ),
        Claim(
            "With ρ = 1e10 the agents reach only consensus.",
            near <= 1e-3 and kept > 1.0,
            f"neighbours {near:.1e} apart, train MSE {kept:.1f} (the entries have variance 5)",
        ),
    ]


CASE = Case(
    name="case1",
    title="Case 1: the effect of ρ",
    setup=(
        "A random table of rank 5 with six times as many known entries as degrees of freedom and "
        "noise of standard deviation 1e-6, divided among agents on a path. One pair of neighbours "
        "meets in each of 200(N−1) slots. The paper's table is 10 000 × 100 000."
    ),
    paper={"figure": "2 (a), (b)", "table": "10000 × 100000", "rank": 5, "rho": [MODERATE, HUGE]},
    experiment=CompletionExperiment(
        tables={"paper": LowRankTable(10_000, 100_000), "small": LowRankTable(800, 8_000)},
        methods=(
            BALANCED,
            CONSENSUS_ONLY,
            _named(precon_stochastic_gossip(MODERATE), MODERATE),
            exact(),
        ),
    ),
    claims=_claims,
    figures=lambda results: [
        error_and_agreement("case1", results, [BALANCED.name, CONSENSUS_ONLY.name])
    ],
    tables=lambda results: [figures_table(results)],
    remarks=(
        "The paper chooses a and b of its step sizes by cross-validation; here the step minimises "
        "the linearised cost at each meeting and nothing is tuned.",
        "With the printed preconditioner WᵀW + ρI and unit steps, two agents swap places forever "
        'when ρ dominates; 2ρ gives the paper\'s "only consensus" (errata, 6).',
    ),
)
