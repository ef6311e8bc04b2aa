"""What a large table costs: ``python -m benchmarks.large_tables [read] [build] [disk]``.

``read`` makes a table of ten million ratings as CSV and as Parquet, and reads it; ``--against``
names the ``src`` folder of another checkout that reads the same files in the same run. ``build``
builds hundred million ratings from arrays, and passes over them. ``disk`` stores a table of four
times ``--limit`` megabytes and fits it in a process that may not allocate more (RLIMIT_DATA). Every
measurement has a process of its own, imports not counted. Peaks are of the resident memory above
that of the imports, the files' pages included; "in all" is with the interpreter and the imports.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_ITEMS = 20_011  # a prime, so that the items of a user are distinct
MEGABYTE = 10**6
USERS_OF_READ, PER_USER_OF_READ = 100_000, 100
USERS_OF_BUILD, PER_USER_OF_BUILD = 480_000, 208
USERS_OF_DISK = 200_000
RANK = 10
ITERATIONS = 15  # of a fit from disk
ONE_THREAD = {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
STACK = 2 * 2**20  # of a thread; each reserves memory that it does not use


def entries(
    n_users: int, low: int, high: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return users, items and stars of entries low … high−1; those of a user are far apart."""
    place = np.arange(low, high)
    user, number = place % n_users, place // n_users
    item = (user * 7919 + number * (1 + user % 5003)) % N_ITEMS
    return user, item, 0.5 + 0.5 * ((user * 31 + item * 17) % 10)


def peak() -> int:
    """Return the largest resident memory since the last call of ``forget_peak``."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    raise OSError("the system does not report its peak memory")


def forget_peak() -> int:
    """Start to measure the peak anew; return the present memory."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def measured(action: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what an action returns, its CPU and wall seconds and its peak memory."""
    before = forget_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    result = action()
    seconds = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    most = peak()
    return result, {**seconds, "peak": float(most - before), "whole": float(most)}


def make(folder: Path) -> None:
    """Write the table to be read."""
    import polars as pl

    user, item, value = entries(USERS_OF_READ, 0, USERS_OF_READ * PER_USER_OF_READ)
    frame = pl.DataFrame({"user": user + 1, "item": item + 1, "rating": value})
    frame.write_csv(folder / "ratings.csv")
    frame.write_parquet(folder / "ratings.parquet")


def read(path: str) -> dict[str, float]:
    """Read a table."""
    import polars as pl

    from grassvine.datasets import read_ratings

    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder, Path(path).name)
        few = pl.DataFrame({"user": [1, 2], "item": [1, 2], "rating": [1.0, 2.0]})
        few.write_csv(small) if small.suffix == ".csv" else few.write_parquet(small)
        read_ratings(small)
        import scipy.sparse  # noqa: F401  # which large tables need
    table, found = measured(lambda: read_ratings(path))
    return {**found, "ratings": float(table.n_ratings)}


def bare(path: str) -> dict[str, float]:
    """Read a table by polars alone."""
    import polars as pl

    frame, found = measured(lambda: pl.read_csv(path))
    return {**found, "ratings": float(len(frame))}


def build() -> dict[str, float]:
    """Build ratings from arrays, and pass over them with two threads."""
    import scipy.sparse  # noqa: F401

    import grassvine as gv

    n = USERS_OF_BUILD * PER_USER_OF_BUILD
    given = [entries(USERS_OF_BUILD, 0, n)]
    ratings, found = measured(lambda: gv.Ratings.from_arrays(*given[0]))
    given.clear()
    data = sum(array.nbytes for array in (ratings.starts, ratings.items, ratings.stored))
    found = {**found, "ratings": float(n), "data": float(data)}
    problem = gv.CompletionProblem(ratings, 0.02, threads=2)
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((N_ITEMS, RANK)))[0]
    problem.evaluate(basis)
    passes = [measured(lambda: problem.evaluate(basis))[1] for _ in range(5)]
    return {
        **found,
        "pass cpu": min(p["cpu"] for p in passes),
        "pass wall": min(p["wall"] for p in passes),
    }


def store(source: str, folder: str) -> dict[str, float]:
    """Store a table in a folder."""
    from grassvine.data.stored import store_ratings

    table, found = measured(lambda: store_ratings(source, folder))
    return {**found, "ratings": float(table.n_ratings)}


def fit(folder: str) -> dict[str, float]:
    """Fit a stored table."""
    import grassvine as gv
    from grassvine.data.stored import open_ratings
    from grassvine.networks import path
    from grassvine.sums.biased import BiasedFactorization

    method = BiasedFactorization(regularization=5.0, max_iter=ITERATIONS)

    def opened_and_fitted() -> Any:
        table = open_ratings(folder)
        plan = gv.Plan(len(table.items), RANK, path(1), method)
        result = gv.run(plan, [gv.BiasedCompletionProblem(table.ratings, threads=1)])
        return table.n_ratings, result

    (n_ratings, result), found = measured(opened_and_fitted)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {
        **found,
        "ratings": float(n_ratings),
        "anonymous": 1024.0 * int(status["RssAnon"].split()[0]),
        "sums": float(len(result.history)),
    }


ACTIONS: dict[str, Callable[..., dict[str, float]]] = {
    "read": read,
    "bare": bare,
    "build": build,
    "store": store,
    "fit": fit,
}


def alone(
    *arguments: str, source: Path | None = None, limit: int | None = None
) -> dict[str, float]:
    """Run an action in a process of its own."""
    environment = os.environ | ({} if limit is None else ONE_THREAD)
    if source is not None:
        environment["PYTHONPATH"] = str(source)

    def bounded() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK))
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    command = [sys.executable, "-W", "ignore", __file__, "--alone", *arguments]
    done = subprocess.run(
        command, env=environment, preexec_fn=bounded, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def show(what: str, found: dict[str, float], **more: object) -> None:
    own, whole = (found[key] / found["ratings"] for key in ("peak", "whole"))
    print(
        f"{what}: cpu {found['cpu']:.2f} s, wall {found['wall']:.2f} s, "
        f"peak {found['peak'] / 1e9:.2f} GB = {own:.1f} bytes a rating ({whole:.1f} in all)"
        + "".join(f", {key} {value}" for key, value in more.items()),
        flush=True,
    )


def show_reading(folder: Path, against: Path | None) -> None:
    make(folder)
    csv, parquet = str(folder / "ratings.csv"), str(folder / "ratings.parquet")
    show("bare polars, CSV", alone("bare", csv))
    for path in (csv, parquet):
        now = alone("read", path)
        show(f"read {Path(path).suffix}", now)
        if against is not None:
            before = alone("read", path, source=against)
            show(
                f"read {Path(path).suffix}, before",
                before,
                ratio=f"{now['cpu'] / before['cpu']:.2f}",
            )


def show_building() -> None:
    found = alone("build")
    show(
        f"build {found['ratings']:,.0f} ratings",
        found,
        data=f"{found['data'] / 1e9:.2f} GB",
        a_pass=f"{found['pass wall']:.2f} s wall, {found['pass cpu']:.2f} s cpu",
    )


def show_disk(folder: Path, limit: int) -> None:
    import polars as pl

    n_ratings = 4 * limit // 8
    source, stored = folder / "parts", folder / "stored"
    source.mkdir()
    size = 2**22
    for low in range(0, n_ratings, size):
        user, item, value = entries(USERS_OF_DISK, low, min(low + size, n_ratings))
        columns = {"user": user.astype(np.int32), "item": item.astype(np.int32), "rating": value}
        pl.DataFrame(columns).write_parquet(source / f"{low // size:05}.parquet")
    show("store", alone("store", str(source), str(stored)))
    found = alone("fit", str(stored), limit=limit)
    show(
        f"fit {found['ratings']:,.0f} ratings of 8 bytes",
        found,
        limit=f"{limit / 1e9:.2f} GB",
        anonymous=f"{found['anonymous'] / 1e9:.2f} GB",
        sums=f"{found['sums']:.0f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["read", "build", "disk"])
    parser.add_argument("--against", type=Path, help="the src folder of another checkout")
    parser.add_argument("--limit", type=int, default=400, help="megabytes that a fit may allocate")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        action, *arguments = options.parts
        print(json.dumps(ACTIONS[action](*arguments)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "read" in options.parts:
            show_reading(folder, options.against)
        if "build" in options.parts:
            show_building()
        if "disk" in options.parts:
            show_disk(folder, options.limit * MEGABYTE)


if __name__ == "__main__":
    main()
