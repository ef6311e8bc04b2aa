"""MovieLens-1M as a user's table: read it, recommend from it: ``python -m benchmarks.tables``.

It needs GRASSVINE_DATA. Imports are not counted: each is done once before.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.timing import best

from grassvine.datasets import locate, read_ratings
from grassvine.estimators import MatrixCompleter
from grassvine.foundations.errors import DataError


def measure(repeats: int = 5) -> Iterator[dict[str, Any]]:
    try:
        path = locate("ml-1m") / "ratings.dat"
    except DataError as absent:
        yield {"what": f"MovieLens-1M was not run: {absent}"}
        return
    table = read_ratings(str(path))
    took = best(lambda: read_ratings(str(path)), repeats)
    yield {"what": f"read {table.ratings.n_values} ratings", "wall": took.wall, "cpu": took.cpu}
    model = MatrixCompleter(10, method="map", regularization=10.0, random_state=0).fit(table).model_
    users = table.users.series
    took = best(lambda: model.recommend(users, 10), repeats)
    yield {"what": f"recommend 10 to each of {len(users)}", "wall": took.wall, "cpu": took.cpu}


def show(rows: Iterator[dict[str, Any]]) -> None:
    for row in rows:
        seconds = ", ".join(f"{key} {value:.2f} s" for key, value in row.items() if key != "what")
        print(f"{row['what']}: {seconds}" if seconds else row["what"], flush=True)


if __name__ == "__main__":
    show(measure())
