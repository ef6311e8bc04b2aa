"""Print the rows that are named, or all: ``python -m benchmarks.exact case4 tasks``."""

import argparse
from collections.abc import Callable, Iterator

from benchmarks.exact.components import components
from benchmarks.exact.ratings import biased, movielens
from benchmarks.exact.rows import Row, text
from benchmarks.exact.tables import case3, case4
from benchmarks.exact.tasks import tasks

from grassvine.foundations.errors import DataError

ROWS: dict[str, Callable[[], Iterator[Row]]] = {
    "case4": case4,
    "case3": case3,
    "tasks": tasks,
    "pca": components,
    "movielens": movielens,
    "biased": biased,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exact", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(ROWS))
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in ROWS]:
        parser.error(f"there is no row {unknown[0]}; choose from {', '.join(ROWS)}.")
    for name in names or ROWS:
        try:
            for row in ROWS[name]():
                print(text(row), flush=True)
        except DataError as absent:
            print(f"{name}: left out. {absent}", flush=True)


if __name__ == "__main__":
    main()
