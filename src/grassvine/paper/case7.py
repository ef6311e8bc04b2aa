"""Case 7: Parkinsons and School."""

import math

import numpy as np

from grassvine.gossip import Gossip
from grassvine.paper.case import Case, Claim, Results
from grassvine.paper.real_tasks import ALT_MIN, BenchmarkExperiment
from grassvine.paper.tables import printed, score
from grassvine.paper.variants import UPDATES, Variant, exact, stochastic_gossip
from grassvine.report.chart import BarGroup, BarPanel
from grassvine.report.figure import draw
from grassvine.report.page import Picture, Table

RHO = 1e6
RANKS = (3, 5, 7, 9)
COMPARABLE = 0.02  # so much worse is still comparable
PRECON = Variant(
    "Precon Stochastic Gossip",
    lambda n: Gossip(RHO, UPDATES * (n - 1), preconditioner="gram"),
    RHO,
)
EXACT = exact()

PAPER = {
    "parkinsons": {
        "ranks": dict(zip(RANKS, (0.345, 0.339, 0.342, 0.341), strict=True)),
        "Alt-Min": 0.340,
    },
    "school": {
        "ranks": dict(zip(RANKS, (0.761, 0.786, 0.782, 0.786), strict=True)),
        "Alt-Min": 0.781,
    },
}
BEST = {"parkinsons": 5, "school": 3}  # the rank whose NMSE the paper names as smaller


def _claims(results: Results) -> list[Claim]:
    return [
        claim
        for dataset in results.each("dataset")
        for claim in _claims_of(dataset, results.where(dataset=dataset))
    ]


def _claims_of(dataset: str, results: Results) -> list[Claim]:
    gossip, batch = results.where(method=PRECON.name), results.where(method=ALT_MIN)
    rival = batch.mean("nmse")
    means = {rank: gossip.where(rank=rank).mean("nmse") for rank in gossip.each("rank")}
    pooled = results.where(method=EXACT.name)
    optimal = {rank: pooled.where(rank=rank).mean("nmse") for rank in means}
    best = BEST[dataset] if BEST.get(dataset) in means else min(means)
    reached = means[best]
    mine, theirs = (_by_agent(r) for r in (gossip.where(rank=min(means)), batch))
    better = int(np.sum(mine < theirs))
    gap = max(mean - rival for mean in means.values())
    return [
        Claim(
            f"{dataset}: the generalisation of Stochastic Gossip is comparable to Alt-Min's.",
            gap <= COMPARABLE,
            f"NMSE {_listed(means)} at ranks {', '.join(map(str, means))}; Alt-Min {rival:.3f}",
        ),
        Claim(
            f"{dataset}: a smaller NMSE than Alt-Min's is obtained, at rank {best}.",
            reached < rival,
            f"{score(gossip.where(rank=best), 'nmse')} at rank {best}, "
            f"Alt-Min {score(batch, 'nmse')}",
        ),
        Claim(
            f"{dataset}: certain agents outperform Alt-Min.",
            better > 0,
            f"{better} of {len(mine)} agents at rank {min(means)}, each on its own tasks",
        ),
        Claim(
            f"{dataset}: the average over the agents matches that of Alt-Min.",
            means[min(means)] - rival <= COMPARABLE,
            f"{means[min(means)]:.3f} at rank {min(means)}, Alt-Min {rival:.3f}",
        ),
        Claim(
            f"{dataset}: an optimum, where the exact method ends, predicts better than gossip at "
            "every rank (ours, not the paper's).",
            all(optimal[rank] < mean for rank, mean in means.items()),
            f"NMSE {_listed(optimal)} at ranks {', '.join(map(str, means))}; "
            f"gossip {_listed(means)}",
        ),
    ]


def _listed(means: dict[int, float]) -> str:
    return ", ".join(f"{mean:.4f}" for mean in means.values())


def _by_agent(results: Results) -> np.ndarray:
    """The NMSE of each agent's tasks, over all splits."""
    return np.mean(
        [[tasks.mean() for tasks in one.traces["nmse"]] for one in results.finished], axis=0
    )


def _spread(results: Results) -> np.ndarray | None:
    each = [[tasks.mean() for tasks in one.traces["nmse"]] for one in results.finished]
    return None if len(each) < 2 else np.std(each, axis=0, ddof=1) / math.sqrt(len(each))


def _figures(results: Results) -> list[Picture]:
    panels = []
    for dataset in results.each("dataset"):
        mine = results.where(dataset=dataset)
        rank = min(mine.where(method=PRECON.name).each("rank"))
        gossip, pooled = (mine.where(method=v.name, rank=rank) for v in (PRECON, EXACT))
        batch = mine.where(method=ALT_MIN)
        n_agents = len(_by_agent(gossip))
        panels.append(
            BarPanel(
                f"{dataset}, rank {rank}",
                "agent",
                "NMSE of its tasks",
                tuple(str(number + 1) for number in range(n_agents)),
                (
                    BarGroup("gossip", _by_agent(gossip), _spread(gossip)),
                    BarGroup(EXACT.name, _by_agent(pooled), _spread(pooled)),
                    BarGroup("Alt-Min, the same tasks", _by_agent(batch), _spread(batch)),
                ),
            )
        )
    alt = "NMSE of each agent's tasks, by gossip, by the exact method and by Alt-Min"
    return [Picture("case7", alt, draw(panels), "Means over the splits ± standard error.")]


def _tables(results: Results) -> list[Table]:
    ranks = sorted({r for m in (PRECON.name,) for r in results.where(method=m).each("rank")})
    header = ("data set", "method", *(f"rank {rank}" for rank in ranks), "Alt-Min")
    rows: list[list[str]] = []
    for dataset in results.each("dataset"):
        mine = results.where(dataset=dataset)
        rival = score(mine.where(method=ALT_MIN), "nmse")
        for method in mine.each("method"):
            if method != ALT_MIN:
                runs = mine.where(method=method)
                cells = [score(runs.where(rank=rank), "nmse") for rank in ranks]
                rows.append([dataset, method, *cells, rival])
        if dataset in PAPER:
            numbers = PAPER[dataset]
            of_ranks = numbers["ranks"]
            assert isinstance(of_ranks, dict)
            cells = printed([of_ranks.get(rank) for rank in ranks])
            rows.append([dataset, "the paper", *cells, f"{numbers['Alt-Min']:.3f}"])
    repeats = len(results.each("repeat"))
    splits = "one split" if repeats == 1 else f"{repeats} splits ± standard error"
    return [Table(header, rows, f"Test NMSE, mean over tasks, then over {splits}.")]


CASE = Case(
    name="case7",
    title="Case 7: Parkinsons and School",
    setup=(
        "80 % of the samples of each task are for training. Six agents hold the tasks in their "
        "order; λ = 0.1, ρ = 1e6, 200(N−1) slots. The NMSE of a task is its test MSE over the "
        "variance of its training labels."
    ),
    paper=PAPER,
    experiment=BenchmarkExperiment(
        defaults=("parkinsons", "school"),
        ranks={"small": (3, 5), "paper": RANKS},
        repeats={"small": 2, "paper": 10},
        variants=(PRECON, stochastic_gossip(RHO), EXACT),
        alpha=0.1,
        alt_min_alpha=0.1,
    ),
    claims=_claims,
    figures=_figures,
    tables=_tables,
    remarks=(
        "The paper does not say how features are scaled, which columns are used, nor by which "
        "variance the error is divided. The protocol here (raw features; total_UPDRS from age, "
        "sex, time and 16 voice columns; School as distributed) was inferred by trying.",
        "Gossip takes unit steps divided by the paper's own preconditioner WᵀW + ρI. Divided by "
        "the curvature, our default elsewhere, or with plain linearised steps, raw features are "
        "too ill-conditioned for 1000 slots at rank 3.",
        "On Parkinsons least squares on time alone, task by task, gives about .354: the labels "
        "were interpolated in time. On School one ridge for all with an intercept a school gives "
        "about .745. Neither benchmark shows much of a common subspace.",
        "The exact method fits the training samples better than gossip at every rank. Over ten "
        "splits that pays on Parkinsons from rank 5 on (.3410 against .3475) and not at rank 3; "
        "on School it overfits: .7422 against .7382 at rank 3, .8062 against .7874 at rank 9. "
        "There the cost has several optima: a trust region from the same start may end in "
        "another, whose NMSE differs by up to .03.",
        "λ = 0.1 stands in our costs with ½ before both terms, for gossip and for Alt-Min alike.",
        "Ten splits leave much to chance: the mean of ten varies by .008 (School) and .005 "
        "(Parkinsons) from one ten to the next.",
    ),
)
