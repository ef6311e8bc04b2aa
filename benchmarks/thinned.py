"""The defaults on sparse tables: ``python -m benchmarks.thinned``.

MovieLens-100K thinned at random to a tenth and to 3 % of its ratings; five splits with a fifth held
out each. The default estimator is compared with the biases alone and with cmfrec at its defaults
(extra ``compare``). Ratings of users and items that do not occur in the training part are left out.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from grassvine.datasets import load_ratings
from grassvine.jobs.compared_methods import Setting
from grassvine.jobs.comparison import compare

METHODS = ("bayes", "map", "biases", "cmfrec")
SHARES, N_SPLITS, SEED = (1.0, 0.1, 0.03), 5, 0


def measure() -> Iterator[dict[str, Any]]:
    table = load_ratings("ml-100k")
    for share in SHARES:
        kept = table if share == 1.0 else table.hold_out(share, SEED + 1000)[1]
        assert kept is not None
        found = compare(kept, METHODS, Setting(seed=SEED), n_splits=N_SPLITS)
        first = found.rows[0]
        for row in found.rows:
            worse = first.rmse - row.rmse
            yield {
                "share": share,
                "ratings": kept.ratings.n_values,
                "method": row.method,
                "rmse": float(row.rmse.mean()),
                "error": float(row.rmse.std(ddof=1) / np.sqrt(N_SPLITS)),
                "bayes is worse by": float(worse.mean()),
                "error of the difference": float(worse.std(ddof=1) / np.sqrt(N_SPLITS)),
                "cpu": float(row.cpu_seconds.mean()),
            }


def show(rows: Iterator[dict[str, Any]]) -> None:
    for row in rows:
        print(
            f"{row['share']:4.0%} ({row['ratings']:,} ratings) {row['method']:7s} RMSE "
            f"{row['rmse']:.4f} ± {row['error']:.4f}; bayes is worse by "
            f"{row['bayes is worse by']:+.4f} ± {row['error of the difference']:.4f}; "
            f"{row['cpu']:.1f} CPU s",
            flush=True,
        )


if __name__ == "__main__":
    show(measure())
