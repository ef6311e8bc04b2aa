"""Our fits of ratings by a given number of sums: in this process, or by two agents on Ray."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import grassvine as gv
from grassvine.engines import Engine
from grassvine.foundations.arrays import Array
from grassvine.sums import (
    BayesianCompletionProblem,
    BayesianFactorization,
    BayesianModel,
    BiasedCompletionProblem,
    BiasedFactorization,
    BiasedModel,
)

N_AGENTS, RANK = 2, 10


@dataclass(frozen=True)
class UsersOfFile:
    """The ratings of some users in a file; calling it reads them, and returns their problem."""

    path: Path
    first: int
    last: int
    n_items: int

    def __call__(self) -> BiasedCompletionProblem:
        wanted = pl.col("users").is_between(self.first, self.last, closed="left")
        frame = pl.scan_parquet(self.path).filter(wanted).collect()
        ratings = gv.Ratings.from_arrays(
            frame["users"].to_numpy() - self.first,
            frame["items"].to_numpy(),
            frame["values"].to_numpy(),
            n_users=self.last - self.first,
            n_items=self.n_items,
        )
        return BiasedCompletionProblem(ratings)


def ratings_of(data: Any) -> gv.Ratings:
    """Return arrays as ratings."""
    places = data["users"], data["items"], data["values"]
    return gv.Ratings.from_arrays(*places, n_items=int(data["n_items"]))


def parts_of(data: Any) -> list[UsersOfFile]:
    """Return what the agents on Ray read."""
    bounds = np.linspace(0, int(data["users"].max()) + 1, N_AGENTS + 1).astype(int).tolist()
    return [
        UsersOfFile(data["parquet"], first, last, int(data["n_items"]))
        for first, last in pairwise(bounds)
    ]


def fit_map(ratings: gv.Ratings, given: dict[str, Any]) -> Callable[[Any], Array]:
    problem = BiasedCompletionProblem(ratings)
    run = _run([problem], BiasedFactorization(given["strength"], max_iter=given["passes"]))
    model = BiasedModel.from_arrays(run.states[0])
    return lambda test: problem.predict(model, _pairs(ratings, test))


def fit_bayes(ratings: gv.Ratings, given: dict[str, Any]) -> Callable[[Any], Array]:
    problem = BayesianCompletionProblem(ratings)
    run = _run([problem], BayesianFactorization((RANK,), max_iter=given["passes"]))
    model = BayesianModel.from_arrays(run.states[0])
    return lambda test: problem.predict(model, _pairs(ratings, test))


def fit_on_ray(parts: Sequence[UsersOfFile], given: dict[str, Any]) -> Callable[[Any], Array]:
    method = BiasedFactorization(given["strength"], max_iter=given["passes"])
    run = _run(parts, method, gv.RayEngine())
    return partial(_predict, parts, BiasedModel.from_arrays(run.states[0]))


def _run(parts: Sequence[Any], method: Any, engine: Engine | None = None) -> gv.Run:
    n_items = parts[0].n_items
    plan = gv.Plan(n_items, RANK, gv.networks.path(len(parts)), method)
    return gv.run(plan, parts, engine=engine)


def _pairs(ratings: gv.Ratings, test: Any) -> gv.Ratings:
    """Return the pairs of a test part, which are in order, as entries."""
    return gv.Ratings.from_arrays(
        test["users"],
        test["items"],
        test["values"],
        n_users=ratings.n_users,
        n_items=ratings.n_items,
    )


def _predict(parts: Sequence[UsersOfFile], model: BiasedModel, test: Any) -> Array:
    found = []
    for part in parts:
        mine = (test["users"] >= part.first) & (test["users"] < part.last)
        places = {"users": test["users"][mine] - part.first, "items": test["items"][mine]}
        problem = part()
        entries = _pairs(problem.ratings, {**places, "values": test["values"][mine]})
        found.append(problem.predict(model, entries))
    return np.concatenate(found)
