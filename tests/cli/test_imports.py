"""A command imports what it uses: libraries take longer to import than a small table to fit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.commands import rating_lines, write_ratings

SCRIPT = """
import sys
from grassvine.cli.app import app
app(sys.argv[1:], standalone_mode=False)
slow = {"sklearn", "scipy.stats", "pandas", "matplotlib", "ray"}
print("imported", *sorted(slow & set(sys.modules)))
"""


@pytest.mark.parametrize(
    ("command", "options"),
    [("complete", ()), ("complete", ("--method", "gossip", "--agents", "2")), ("implicit", ())],
)
def test_fits_of_ratings_and_events_need_no_scikit_learn(
    tmp_path: Path, command: str, options: tuple[str, ...]
) -> None:
    table = write_ratings(tmp_path / "ratings.csv", rating_lines())
    output = ("--run", "run", "-o", "model", "--holdout", "0.2")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, command, str(table), *options, *output],
        check=True,
        capture_output=True,
        cwd=tmp_path,
        text=True,
    )
    assert done.stdout.splitlines()[-1].split() == ["imported"]


BLAS_SCRIPT = """
import sys
from grassvine.cli import main
try:
    main()
except SystemExit:
    from threadpoolctl import threadpool_info
    found = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
    print("threads", *sorted(set(found)))
"""


@pytest.mark.parametrize(("given", "threads"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "2"}, "2")])
def test_a_command_starts_one_blas_thread_unless_told_otherwise(
    tmp_path: Path, given: dict[str, str], threads: str
) -> None:
    table = write_ratings(tmp_path / "ratings.csv", rating_lines())
    others = {name: one for name, one in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", BLAS_SCRIPT, "complete", str(table), "--rank", "2"],
        check=True,
        capture_output=True,
        env={**others, **given},
        text=True,
    )
    assert done.stdout.splitlines()[-1].split() == ["threads", threads]
