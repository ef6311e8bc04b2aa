"""Small runs behind the advice of docs/exact.md: the condition of a table, and components.

Six agents on a ring: tables of 100 × 1500, rank 3, OS 6, whose singular values lie so far apart;
and the handwritten digits of scikit-learn (1797 × 64), leading 5 components. One seed each.
"""

import numpy as np
from benchmarks.comparison.watch import Trace, in_megabytes, trace
from sklearn.datasets import load_digits

import grassvine as gv
from grassvine.averaging import REXTRA, DeEPCA, Tracked
from grassvine.baselines import rtrmc, spectral_start
from grassvine.protocol import Method
from grassvine.report.page import Table

N_AGENTS, GOAL = 6, 1e-8
RING = gv.networks.ring(N_AGENTS)
SLOTS = 1500


def show() -> None:
    for table in (conditions(), components()):
        print(f"\n{table.markdown()}", flush=True)


def conditions() -> Table:
    methods: dict[str, Method] = {
        "tree sums": gv.Exact(),
        "tracked L-BFGS": Tracked(),
        "REXTRA, default step": REXTRA(SLOTS),
        "Precon Parallel Gossip": gv.gossip.precon_parallel(1e3, SLOTS),
    }
    rows = []
    for condition in (2.0, 20.0, 200.0):
        table = gv.datasets.low_rank_ratings(
            100, 1500, 3, oversampling=6.0, condition=condition, seed=1
        )
        pooled = gv.CompletionProblem(table.ratings)
        start = spectral_start(table.ratings, 3, seed=1)
        target = rtrmc(pooled, start, tol=1e-14).basis
        problems = [
            gv.CompletionProblem(part) for part in gv.datasets.split_users(table.ratings, N_AGENTS)
        ]
        for name, method in methods.items():
            found = trace(gv.Plan(100, 3, RING, method, seed=3), problems, target)
            rows.append((f"{condition:g}", name, *_figures(found)))
    return Table(("condition", "method", f"MB to {GOAL:g}", "error", "MB", "slots"), rows)


def components() -> Table:
    samples = load_digits().data
    samples = samples - samples.mean(axis=0)
    target = np.linalg.eigh(samples.T @ samples)[1][:, -5:]
    problems = [gv.PCAProblem(part) for part in np.array_split(samples, N_AGENTS)]
    methods: dict[str, Method] = {
        "DeEPCA": DeEPCA(),
        "tree sums": gv.Exact(),
        "tracked L-BFGS": Tracked(),
    }
    rows = [
        (name, *_figures(trace(gv.Plan(64, 5, RING, method, seed=3), problems, target)))
        for name, method in methods.items()
    ]
    return Table(("digits", f"MB to {GOAL:g}", "error", "MB", "slots"), rows)


def _figures(found: Trace) -> tuple[str, str, str, str]:
    return (
        in_megabytes(found.megabytes_to(GOAL)),
        f"{found.errors[-1]:.1e}",
        in_megabytes(float(found.megabytes[-1])),
        str(found.slots),
    )
