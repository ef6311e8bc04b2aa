"""Case 7: Parkinsons and School."""

import math
from collections.abc import Iterator

import numpy as np

from grassvine.gossip import Gossip
from grassvine.paper.case import Case, Claim, Results
from grassvine.paper.real_tasks import ALT_MIN, BenchmarkExperiment
from grassvine.paper.tables import format_printed, format_score
from grassvine.paper.variants import UPDATES, Variant, empirical_bayes, exact, stochastic_gossip
from grassvine.report.chart import BarGroup, BarPanel
from grassvine.report.figure import draw
from grassvine.report.page import Picture, Table

RHO = 1e6
RANKS = (3, 5, 7, 9)
COMPARABLE = 0.02  # largest gap in NMSE that counts as comparable
COMPARABLE_TO_BEST = 0.005  # the same, where the other rank was chosen on the test samples
PRECON = Variant(
    "Precon Stochastic Gossip",
    lambda n: Gossip(RHO, UPDATES * (n - 1), preconditioner="gram"),
    RHO,
)
EXACT, BAYES = exact(), empirical_bayes()

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
BEST = {
    "parkinsons": 5,
    "school": 3,
}  # rank at which the paper beats Alt-Min


def _claims(results: Results) -> list[Claim]:
    return [
        claim
        for dataset in results.each("dataset")
        for claim in _claims_of(dataset, results.where(dataset=dataset))
    ]


def _claims_of(dataset: str, results: Results) -> list[Claim]:
    gossip, batch = results.where(method=PRECON.name), results.where(method=ALT_MIN)
    baseline = batch.mean("nmse")
    means = {rank: gossip.where(rank=rank).mean("nmse") for rank in gossip.each("rank")}
    pooled = results.where(method=EXACT.name)
    optimal = {rank: pooled.where(rank=rank).mean("nmse") for rank in means}
    best = BEST[dataset] if BEST.get(dataset) in means else min(means)
    reached = means[best]
    mine, theirs = (_by_agent(r) for r in (gossip.where(rank=min(means)), batch))
    better = int(np.sum(mine < theirs))
    gap = max(mean - baseline for mean in means.values())
    return [
        Claim(
            f"{dataset}: Stochastic Gossip generalises comparably to Alt-Min.",
            gap <= COMPARABLE,
            f"NMSE {_format_means(means)} at ranks {', '.join(map(str, means))}; "
            f"Alt-Min {baseline:.3f}",
        ),
        Claim(
            f"{dataset}: gossip reaches a smaller NMSE than Alt-Min at rank {best}.",
            reached < baseline,
            f"{format_score(gossip.where(rank=best), 'nmse')} at rank {best}, "
            f"Alt-Min {format_score(batch, 'nmse')}",
        ),
        Claim(
            f"{dataset}: some agents outperform Alt-Min.",
            better > 0,
            f"{better} of {len(mine)} agents at rank {min(means)}, each on its own tasks",
        ),
        Claim(
            f"{dataset}: the average over the agents matches Alt-Min.",
            means[min(means)] - baseline <= COMPARABLE,
            f"{means[min(means)]:.3f} at rank {min(means)}, Alt-Min {baseline:.3f}",
        ),
        Claim(
            f"{dataset}: the exact method, which reaches an optimum, predicts better than gossip "
            "at every rank (our claim, not the paper's).",
            all(optimal[rank] < mean for rank, mean in means.items()),
            f"NMSE {_format_means(optimal)} at ranks {', '.join(map(str, means))}; "
            f"gossip {_format_means(means)}",
        ),
        *_claims_on_bayes(dataset, results, [*means.values(), *optimal.values()]),
    ]


def _claims_on_bayes(dataset: str, results: Results, others: list[float]) -> Iterator[Claim]:
    """Compare empirical Bayes, where it was run, with gossip and the exact method at any rank."""
    mine = results.where(method=BAYES.name)
    if mine.finished:
        reached, best = mine.mean("nmse"), float(np.nanmin(others))
        yield Claim(
            f"{dataset}: empirical Bayes, with nothing chosen, predicts about as well as gossip "
            "and the exact method at their best ranks, or better (our claim, not the paper's).",
            reached <= best + COMPARABLE_TO_BEST,
            f"NMSE {format_score(mine, 'nmse')}; the others at their best rank {best:.4f}",
        )


def _format_means(means: dict[int, float]) -> str:
    return ", ".join(f"{mean:.4f}" for mean in means.values())


def _by_agent(results: Results) -> np.ndarray:
    """Return the NMSE of each agent's tasks, averaged over splits."""
    return np.mean(
        [[tasks.mean() for tasks in one.traces["nmse"]] for one in results.finished], axis=0
    )


def _standard_errors(results: Results) -> np.ndarray | None:
    each = [[tasks.mean() for tasks in one.traces["nmse"]] for one in results.finished]
    return None if len(each) < 2 else np.std(each, axis=0, ddof=1) / math.sqrt(len(each))


def _figures(results: Results) -> list[Picture]:
    panels = []
    for dataset in results.each("dataset"):
        mine = results.where(dataset=dataset)
        rank = min(mine.where(method=PRECON.name).each("rank"))
        gossip, pooled = (mine.where(method=v.name, rank=rank) for v in (PRECON, EXACT))
        beside = {
            BAYES.name: mine.where(method=BAYES.name),
            "Alt-Min, same tasks": mine.where(method=ALT_MIN),
        }
        n_agents = len(_by_agent(gossip))
        panels.append(
            BarPanel(
                f"{dataset}, rank {rank}",
                "agent",
                "NMSE of its tasks",
                tuple(str(number + 1) for number in range(n_agents)),
                (
                    BarGroup("gossip", _by_agent(gossip), _standard_errors(gossip)),
                    BarGroup(EXACT.name, _by_agent(pooled), _standard_errors(pooled)),
                    *(
                        BarGroup(name, _by_agent(each), _standard_errors(each))
                        for name, each in beside.items()
                        if each.finished
                    ),
                ),
            )
        )
    alt = "NMSE of each agent's tasks for gossip, the exact method, empirical Bayes and Alt-Min"
    return [Picture("case7", alt, draw(panels), "Means over splits ± standard error.")]


def _tables(results: Results) -> list[Table]:
    ranks = sorted({r for m in (PRECON.name,) for r in results.where(method=m).each("rank")})
    columns = [f"rank {rank}" for rank in ranks]
    header = ("data set", "method", *columns, BAYES.name, "Alt-Min")
    rows: list[list[str]] = []
    for dataset in results.each("dataset"):
        mine = results.where(dataset=dataset)
        beside = [format_score(mine.where(method=one), "nmse") for one in (BAYES.name, ALT_MIN)]
        for method in mine.each("method"):
            if method not in (BAYES.name, ALT_MIN):
                runs = mine.where(method=method)
                cells = [format_score(runs.where(rank=rank), "nmse") for rank in ranks]
                rows.append([dataset, method, *cells, *beside])
        if dataset in PAPER:
            numbers = PAPER[dataset]
            of_ranks = numbers["ranks"]
            assert isinstance(of_ranks, dict)
            cells = format_printed([of_ranks.get(rank) for rank in ranks])
            rows.append([dataset, "the paper", *cells, "–", f"{numbers['Alt-Min']:.3f}"])
    repeats = len(results.each("repeat"))
    splits = "one split" if repeats == 1 else f"{repeats} splits ± standard error"
    return [Table(header, rows, f"Test NMSE averaged over tasks, then over {splits}.")]


CASE = Case(
    name="case7",
    title="Case 7: Parkinsons and School",
    setup=(
        "80% of the samples of each task are used for training. Six agents hold the tasks in "
        "order; λ = 0.1, ρ = 1e6, 200(N−1) slots. The NMSE of a task is its test MSE over the "
        "variance of its training labels."
    ),
    paper=PAPER,
    experiment=BenchmarkExperiment(
        defaults=("parkinsons", "school"),
        ranks={"small": (3, 5), "paper": RANKS},
        repeats={"small": 2, "paper": 10},
        variants=(PRECON, stochastic_gossip(RHO), EXACT),
        bayes=BAYES,
        alpha=0.1,
        alt_min_alpha=0.1,
    ),
    claims=_claims,
    figures=_figures,
    tables=_tables,
    remarks=(
        "The paper does not state how features are scaled, which columns are used, or which "
        "variance normalises the error. The protocol here (raw features; total_UPDRS from age, "
        "sex, time and 16 voice columns; School as distributed) was inferred by trial and error.",
        "Gossip takes unit steps with the paper's own preconditioner WᵀW + ρI. With curvature "
        "preconditioning, our default elsewhere, or with plain linearised steps, 1000 slots are "
        "too few at rank 3 because the raw features are ill-conditioned.",
        "On Parkinsons, least squares on time alone, task by task, gives about .354, because the "
        "labels were interpolated in time. On School, one ridge regression with an intercept per "
        "school gives about .745. Neither benchmark shows much of a common subspace.",
        "The exact method fits the training samples better than gossip at every rank. Over ten "
        "splits this helps on Parkinsons from rank 5 on (.3410 versus .3475) but not at rank 3; "
        "on School it overfits: .7459 versus .7382 at rank 3, .8070 versus .7874 at rank 9. "
        "The cost on School has several optima: a trust region from the same start may end in "
        "another one, whose NMSE differs by up to .03.",
        "Empirical Bayes learns the distribution of the weights of all tasks instead of a "
        "subspace. Over ten splits its NMSE is .7165 on School and .3416 on Parkinsons, without a "
        "rank or a regularisation to choose.",
        "λ = 0.1 refers to our costs, with ½ before both terms, for gossip and Alt-Min alike.",
        "Ten splits leave considerable randomness: the mean of ten varies by .008 (School) and "
        ".005 (Parkinsons) from one set of ten to the next.",
    ),
)
