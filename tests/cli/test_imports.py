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


@pytest.mark.parametrize("options", [(), ("--method", "gossip", "--agents", "2")])
def test_complete_needs_no_scikit_learn(tmp_path: Path, options: tuple[str, ...]) -> None:
    table = write_ratings(tmp_path / "ratings.csv", rating_lines())
    command = ["complete", str(table), *options, "--run", "run", "-o", "model", "--holdout", "0.2"]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *command],
        check=True,
        capture_output=True,
        cwd=tmp_path,
        text=True,
    )
    assert done.stdout.splitlines()[-1].split() == ["imported"]
