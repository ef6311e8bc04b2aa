"""Other libraries beside ours: ``make bench-peers``; ``python -m benchmarks.libraries case1``.

Each row is measured anew and replaces the same row in the file of results, from which
``--page docs/speed.md`` writes the page and its pictures. Environments are made in ``.venv-peers``;
a library that cannot be used here is left out with the reason.
"""

import argparse
import json
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.libraries import in_process, page, tables
from benchmarks.libraries.contest import pairs
from benchmarks.ratings.__main__ import processor

from grassvine.foundations.errors import DataError

OURS = ("grassvine", "numpy", "numba", "scikit-learn", "pymanopt")


def contest(measure: Callable[[], tuple[dict[str, Any], dict[str, str]]]) -> dict[str, Any]:
    curves, absent = measure()
    return {"curves": curves, "absent": absent, "pairs": pairs(curves)}


ROWS: dict[str, Callable[[], dict[str, Any]]] = {
    "ratings": lambda: contest(tables.ratings),
    "events": lambda: contest(tables.events),
    "large": lambda: contest(tables.large),
    "components": lambda: {"rows": in_process.components()},
    "case1": lambda: {"rows": in_process.case1()},
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.libraries", description=__doc__)
    parser.add_argument("rows", nargs="*", default=list(ROWS), help=f"of {', '.join(ROWS)}")
    parser.add_argument("--results", type=Path, default=Path("libraries.json"))
    parser.add_argument("--page", type=Path, help="write the page of the results here, and end")
    given = parser.parse_args()
    known = json.loads(given.results.read_text()) if given.results.is_file() else {}
    if given.page:
        page.write(given.page, known)
        return
    if unknown := set(given.rows) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(sorted(unknown))}; choose of {', '.join(ROWS)}")
    stamp = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{processor()}, 2 cores",
        "versions": ", ".join(
            (
                f"Python {platform.python_version()}",
                *(f"{p} {metadata.version(p)}" for p in OURS[1:]),
            )
        ),
    }
    for row in given.rows:
        print(f"{row}", flush=True)
        try:
            known[row] = {**ROWS[row](), **stamp}
        except DataError as absent:
            print(f"  left out: {absent}", flush=True)
            continue
        given.results.write_text(json.dumps(known, indent=1))
        print("\n".join(page.section(row, known[row])), flush=True)


if __name__ == "__main__":
    main()
