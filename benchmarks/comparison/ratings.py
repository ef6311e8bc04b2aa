"""MovieLens-1M: the paper's gossip, the exact method, and one owner of all ratings.

Case 5 of the paper at rank 5, for more numbers of agents; one random 80/20 split, of seed 0.
"""

from dataclasses import replace

from grassvine.foundations.errors import DataError
from grassvine.paper import CASES
from grassvine.paper.case import Request, Results
from grassvine.paper.cases.case5 import GOSSIP
from grassvine.paper.ratings import BATCH, RatingsExperiment
from grassvine.paper.variants import exact
from grassvine.report.page import Table

DATASET, RANK, AGENTS = "ml-1m", 5, (2, 5, 10, 20, 50)
EXACT = exact()


def show() -> None:
    try:
        results = measure()
    except DataError as absent:
        print(f"MovieLens-1M was not run: {absent}")
        return
    print(table(results).markdown())


def measure() -> Results:
    experiment = CASES["case5"].experiment
    assert isinstance(experiment, RatingsExperiment)
    protocol = replace(experiment.protocols[DATASET], ranks=(RANK,), n_agents=AGENTS)
    protocols = {**experiment.protocols, DATASET: protocol}
    wide = replace(experiment, protocols=protocols, beside=(EXACT,))
    return wide.run(Request(scale="paper", repeats=1, datasets=(DATASET,)))


def table(results: Results) -> Table:
    """One row a run."""
    head = ("method", "N", "test RMSE", "apart", "messages", "MB", "CPU s")
    rows = []
    for method in (GOSSIP, EXACT.name, BATCH):
        for one in results.where(method=method).finished:
            record = one.record
            rows.append(
                (
                    method,
                    str(record.n_agents),
                    f"{record.test_rmse:.6f}",
                    f"{record.consensus_distance:.2g}",
                    str(record.messages),
                    f"{record.bytes / 1e6:.1f}",
                    f"{record.cpu_seconds:.1f}",
                )
            )
    return Table(head, rows)
