"""A command imports what it uses: libraries take longer to import than a small table to fit."""

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
