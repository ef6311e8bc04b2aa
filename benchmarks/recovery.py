"""From how few entries a table is recovered: ``python -m benchmarks.recovery --help``.

Tables of 1000×1000 and rank 5 without noise, singular values falling exponentially from √(mn) to
√(mn)/κ. OS·r(m + n − r) entries are known, at places drawn until every item and user has at least
r. A trial succeeds if the relative error of the whole table is below 1e-3 at κ = 10 and, strictly,
below 1e-3/κ at κ = 1e5: an error of 1e-3 there counts three of five directions as all. The exact
method runs as one owner of all data would run it: agents that add up the same sums find the same.
A sum is counted by its size; one is 1000·5 + 5² + 2 numbers.
"""

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.timing import timed

import grassvine as gv
from grassvine.baselines import rtrmc, spectral_start
from grassvine.datasets.synthetic import LowRankRatings
from grassvine.foundations.arrays import Array
from grassvine.foundations.files import write_whole
from grassvine.report.chart import Curve, Level, Panel
from grassvine.report.figure import draw
from grassvine.sums.descent.continuation import CompletedIterate
from grassvine.sums.program import Part, Program, ProgramOutcome, run_pooled

SIZE, RANK = 1000, 5
WHOLE = SIZE * RANK + RANK**2 + 2
CONDITIONS = (10.0, 1e5)
OVERSAMPLINGS = {
    "exact": (1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 2.0, 2.2),
    "rtrmc": (1.8, 2.2, 2.6, 3.0, 3.4),
}


def measure(
    methods: Sequence[str],
    trials: int,
    conditions: Sequence[float],
    oversamplings: Sequence[float] | None = None,
) -> Iterator[dict[str, Any]]:
    for condition in conditions:
        for method in methods:
            for oversampling in oversamplings or OVERSAMPLINGS[method]:
                yield _cell(method, condition, oversampling, trials)


def _cell(method: str, condition: float, oversampling: float, trials: int) -> dict[str, Any]:
    needed = 1e-3 if condition <= 10.0 else 1e-3 / condition
    errors, sums, seconds, certificates = [], [], [], []
    for seed in range(trials):
        data = gv.datasets.low_rank_ratings(
            SIZE,
            SIZE,
            RANK,
            oversampling=oversampling,
            noise=0.0,
            condition=condition,
            least_entries=RANK,
            n_test=SIZE * SIZE,
            seed=seed,
        )
        problem = gv.CompletionProblem(data.ratings)
        solve = partial(_exact if method == "exact" else _rtrmc, problem, seed)
        (basis, n_sums, certified), took = timed(solve)
        errors.append(_relative_error(data, problem, basis))
        sums.append(n_sums)
        seconds.append(took.cpu)
        certificates.append(bool(certified))
    right, certain = np.array(errors) < needed, np.array(certificates)
    return {
        "method": method,
        "condition": condition,
        "oversampling": oversampling,
        "trials": trials,
        "recovered": int(np.sum(right)),
        "weakly": int(np.sum(np.array(errors) < 1e-3)),
        "certified": int(np.sum(right & certain)),
        "wrongly_certified": int(np.sum(~right & certain)),
        "median_sums": float(np.median(sums)),
        "most_sums": float(np.max(sums)),
        "cpu_seconds": float(np.mean(seconds)),
    }


def _exact(problem: gv.CompletionProblem, seed: int) -> tuple[Array, float, bool]:
    start = gv.Plan(SIZE, RANK, gv.networks.path(2), seed=seed).start(0)
    sizes: list[int] = []
    ending = run_pooled(_counted(gv.Exact().program(problem, start, seed), sizes), problem)
    assert isinstance(ending.iterate, CompletedIterate)
    return ending.iterate.basis, sum(sizes) / WHOLE, ending.iterate.recovered


def _counted(program: Program, sizes: list[int]) -> Program:
    request = next(program)
    while True:
        answer = yield request
        if isinstance(request, Part):
            sizes.append(sum(array.size for array in answer))
        try:
            request = program.send(answer)
        except StopIteration as end:
            ending: ProgramOutcome = end.value
            return ending


def _rtrmc(problem: gv.CompletionProblem, seed: int) -> tuple[Array, float, None]:
    start = spectral_start(problem.ratings, RANK, seed=seed)
    result = rtrmc(problem, start, tol=1e-12)
    # What it would add up if its data lay apart: a gradient an iteration, and its products.
    return result.basis, sum(1.0 + step.inner for step in result.iterations), None


def _relative_error(data: LowRankRatings, problem: gv.CompletionProblem, basis: Array) -> float:
    weights = problem.weights(basis)
    wrong = whole = 0.0
    for part in (data.ratings, data.test):
        assert part is not None
        fitted = np.einsum("kr,kr->k", basis[part.items], weights[part.users_of_values()])
        wrong += float(np.sum((fitted - part.values) ** 2))
        whole += float(np.sum(part.values**2))
    return math.sqrt(wrong / whole)


def plot(rows: Sequence[dict[str, Any]], path: Path) -> None:
    panels = []
    for condition in CONDITIONS:
        mine = [row for row in rows if row["condition"] == condition]
        curves = []
        for place, (method, label) in enumerate((("exact", "exact"), ("rtrmc", "RTRMC"))):
            cells = sorted(
                (row["oversampling"], row["recovered"] / row["trials"])
                for row in mine
                if row["method"] == method
            )
            if cells:
                x, y = np.array(cells).T
                curves.append(Curve(label, x, y, place, place))
        strict = "" if condition <= 10.0 else ", strict"
        title = f"condition {condition:.0e}{strict}" if strict else f"condition {condition:g}"
        panels.append(
            Panel(
                title,
                "oversampling",
                "share of trials recovered",
                tuple(curves),
                (Level("90%", 0.9),),
                log_y=False,
            )
        )
    write_whole(path, draw(panels).png)


def show(row: dict[str, Any]) -> str:
    return (
        f"{row['method']}, condition {row['condition']:g}, OS {row['oversampling']}: "
        f"{row['recovered']} of {row['trials']} ({row['weakly']} below 1e-3), sums "
        f"{row['median_sums']:.0f} (most {row['most_sums']:.0f}), {row['certified']} certified, "
        f"{row['wrongly_certified']} wrongly, {row['cpu_seconds']:.1f} CPU s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Recovery by oversampling.")
    parser.add_argument("--methods", nargs="*", default=list(OVERSAMPLINGS))
    parser.add_argument("--conditions", nargs="*", type=float, default=list(CONDITIONS))
    parser.add_argument("--oversamplings", nargs="*", type=float, help="by default, all")
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--rows", type=Path, help="a file to which every row is added, as JSON")
    parser.add_argument("--plot", type=Path, help="draw the rows of that file into this PNG")
    given = parser.parse_args()
    if given.plot:
        lines = given.rows.read_text().splitlines()
        plot([json.loads(line) for line in lines], given.plot)
        return
    for row in measure(given.methods, given.trials, given.conditions, given.oversamplings):
        print(show(row), flush=True)
        if given.rows:
            with given.rows.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
