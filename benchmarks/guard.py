"""Compare ratios measured in one run with committed ones: ``python -m benchmarks.guard``.

A ratio is CPU seconds of ours over those of something whose speed does not change with our code,
measured in turn with it. One that is more than 15 % above the committed one is measured again, and
named if it still is; then the exit status is 1. ``--commit`` writes the ratios of this machine to
``benchmarks/guard.json``.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.kernel import movielens_shaped
from benchmarks.libraries.in_process import SPECTRA, components, least_cpu

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.sums import (
    BayesianCompletionProblem,
    BayesianFactorization,
    BiasedFactorization,
)

COMMITTED = Path(__file__).with_name("guard.json")
TOLERANCE = 0.15
REPEATS = 5
RANK, REGULARIZATION = 10, 17.0  # of many agents: the noise scale of their table


def matrix_product() -> Array:
    """What ratios are to: a product of matrices, which is NumPy's."""
    square = np.random.default_rng(0).standard_normal((1500, 1500))
    return square @ square


def passes() -> dict[str, float]:
    """Evaluations of a table of MovieLens-1M's shape, and fits of it with few sums."""
    ratings = movielens_shaped()
    basis = gv.geometry.Grassmann().random_point(ratings.n_items, 10, np.random.default_rng(1))
    problem = gv.CompletionProblem(ratings)
    direction = np.random.default_rng(2).standard_normal(basis.shape)
    plans: dict[str, tuple[Any, Any]] = {
        "map": (BiasedFactorization(10.0, max_iter=5), gv.BiasedCompletionProblem),
        "bayes": (BayesianFactorization((10,), max_iter=5), BayesianCompletionProblem),
    }

    def fit(name: str) -> gv.Run:
        method, kind = plans[name]
        plan = gv.Plan(ratings.n_items, 10, gv.networks.path(1), method)
        return gv.run(plan, [kind(ratings)])

    return _to_product(
        {
            "evaluation": lambda: problem.evaluate(basis),
            "product with the Hessian": lambda: problem.hessian_product(basis, direction),
            "MAP, 5 sums": lambda: fit("map"),
            "variational Bayes, 5 sums": lambda: fit("bayes"),
        }
    )


def agents() -> dict[str, float]:
    """A fit by 100 agents in one process, over the same fit by one."""
    data = gv.datasets.low_rank_ratings(1000, 2000, 5, oversampling=20 / 15, seed=1).ratings
    method = BiasedFactorization(REGULARIZATION)

    def fit(n_agents: int) -> gv.Run:
        parts = gv.datasets.split_users(data, n_agents)
        plan = gv.Plan(1000, RANK, gv.networks.ring(n_agents), method)
        return gv.run(plan, [gv.BiasedCompletionProblem(part) for part in parts])

    took = least_cpu({"1": lambda: fit(1), "100": lambda: fit(100)}, REPEATS)
    return {"100 agents, to one": took["100"] / took["1"]}


def principal_components() -> dict[str, float]:
    """Components, over scikit-learn's solver of the covariance matrix."""
    ratios = {}
    for row in components(SPECTRA, ("covariance_eigh",)):
        for n_agents in (1, 10):
            name = f"components, {row['spectrum']}, {n_agents} agents, to scikit-learn"
            ratios[name] = row[f"ours, {n_agents}"] / row["covariance_eigh"]
    return ratios


def _to_product(actions: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    took = least_cpu({"product": matrix_product, **actions}, REPEATS)
    return {name: took[name] / took["product"] for name in actions}


GROUPS: tuple[Callable[[], dict[str, float]], ...] = (passes, agents, principal_components)


def slower(found: Mapping[str, float], committed: Mapping[str, float]) -> list[str]:
    """Return the names of ratios above the committed ones by more than the tolerance."""
    return [
        name
        for name, ratio in found.items()
        if name in committed and ratio > (1.0 + TOLERANCE) * committed[name]
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("--commit", action="store_true", help="write the ratios of this run")
    commit = parser.parse_args().commit
    committed = {} if commit else json.loads(COMMITTED.read_text())
    ratios: dict[str, float] = {}
    failed: list[str] = []
    for group in GROUPS:
        found = group()
        if slower(found, committed):
            found = {name: min(ratio, found[name]) for name, ratio in group().items()}
        failed += slower(found, committed)
        ratios |= found
        for name, ratio in found.items():
            known = f"committed {committed[name]:.3f}" if name in committed else "not committed"
            mark = "  SLOWER" if name in failed else ""
            print(f"{name}: {ratio:.3f}" + ("" if commit else f" ({known})") + mark, flush=True)
    if commit:
        COMMITTED.write_text(
            json.dumps({k: round(v, 4) for k, v in ratios.items()}, indent=2) + "\n"
        )
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
