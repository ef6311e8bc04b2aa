"""Exp, log and distance against pymanopt's: ``python -m benchmarks.geometry``.

Pymanopt's distance takes the arccos of singular values: cheaper, and without a digit below 1e-8.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pymanopt.manifolds
from benchmarks.timing import best

import grassvine as gv
from grassvine.foundations.blas import one_blas_thread


def measure(repeats: int = 50) -> list[dict[str, Any]]:
    with one_blas_thread():
        sizes = ((500, 5), (10_000, 5), (17_770, 10))
        return [row for size in sizes for row in _rows(*size, repeats)]


def _rows(n_items: int, rank: int, repeats: int) -> Iterator[dict[str, Any]]:
    ours, theirs = gv.geometry.Grassmann(), pymanopt.manifolds.Grassmann(n_items, rank)
    rng = np.random.default_rng(0)
    point, other = (ours.random_point(n_items, rank, rng) for _ in range(2))
    tangent = ours.log(point, other)
    for name, mine, reference in (
        ("exp", lambda: ours.exp(point, tangent), lambda: theirs.exp(point, tangent)),
        ("log", lambda: ours.log(point, other), lambda: theirs.log(point, other)),
        ("distance", lambda: ours.distance(point, other), lambda: theirs.dist(point, other)),
    ):
        seconds = best(mine, repeats).cpu
        yield {
            "n_items": n_items,
            "rank": rank,
            "operation": name,
            "milliseconds": 1e3 * seconds,
            "pymanopt_over_ours": best(reference, repeats).cpu / seconds,
        }


def show(rows: list[dict[str, Any]]) -> None:
    print(" items  rank  operation  CPU ms  pymanopt's time over ours")
    for row in rows:
        print(
            f"{row['n_items']:6d}  {row['rank']:4d}  {row['operation']:9s}"
            f"  {row['milliseconds']:6.3f}  {row['pymanopt_over_ours']:.1f}×"
        )


if __name__ == "__main__":
    show(measure())
