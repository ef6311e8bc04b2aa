"""The field's own tables of ratings: ``python -m benchmarks.ratings --help``.

Results are added to a file, one line of JSON each; a result that is there already is not measured
again. ``--page`` writes the page of all results in the file.
"""

import argparse
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from itertools import chain, islice
from pathlib import Path
from typing import Any

from benchmarks.ratings import page
from benchmarks.ratings.measure import by_agents, errors
from benchmarks.ratings.methods import METHODS, warm_up
from benchmarks.ratings.rows import ROWS

from grassvine.foundations.errors import DataError, MissingExtra
from grassvine.foundations.files import write_whole

PACKAGES = ("numpy", "numba", "cmfrec")


def measure(
    row: str,
    methods: Sequence[str],
    agents: Sequence[int],
    n_splits: int | None,
    folder: Path | None,
    done: Sequence[Mapping[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Measure what a row lacks."""
    splits = islice(ROWS[row].splits(folder), n_splits)
    try:
        first = next(splits)
    except (DataError, MissingExtra) as absent:
        yield {"kind": "skipped", "why": str(absent)}
        return
    for split in chain([first], splits):
        known = [one for one in done if one["row"] == row and one.get("split") == split.name]
        fitted = {one["method"] for one in known if one["kind"] == "error"}
        yield from errors(split, [one for one in methods if one not in fitted])
        compared = {one["agents"] for one in known if one["kind"] == "agents"}
        if split is first and set(agents) - compared:
            yield from by_agents(split, methods[0], agents)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", default=list(ROWS), help=f"of {', '.join(ROWS)}")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--agents", nargs="*", type=int, default=[1, 10, 100])
    parser.add_argument("--splits", type=int, help="at most this many splits of a row")
    parser.add_argument(
        "--path", nargs="*", default=[], metavar="ROW=FOLDER", help="where the data of a row are"
    )
    parser.add_argument("--results", type=Path, default=Path("ratings-benchmark.jsonl"))
    parser.add_argument("--page", type=Path, help="write the page of all results here, and end")
    given = parser.parse_args()
    lines = given.results.read_text().splitlines() if given.results.is_file() else []
    done = [json.loads(line) for line in lines]
    if given.page:
        write_whole(given.page, page.page(done).encode())
        return
    if unknown := set(given.rows) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(sorted(unknown))}; choose of {', '.join(ROWS)}")
    folders = {row: Path(folder) for row, _, folder in (one.partition("=") for one in given.path)}
    warm_up(given.methods)
    stamp = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "versions": ", ".join((f"Python {platform.python_version()}", *map(_version, PACKAGES))),
    }
    for row in given.rows:
        wanted = (given.methods, given.agents, given.splits, folders.get(row))
        for result in measure(row, *wanted, done):
            whole = {"row": row, **result, **stamp}
            with given.results.open("a") as file:
                file.write(json.dumps(whole) + "\n")
            for line in page.lines(whole):
                print(line, flush=True)


def _version(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return f"no {package}"


def processor() -> str:
    """Return the name of the processor, where the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


if __name__ == "__main__":
    main()
