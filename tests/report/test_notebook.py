"""Progress and results as IPython shows them in a notebook."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CELL = """
import numpy as np
import grassvine as gv
from grassvine.report.progress import ProgressBar

table = gv.datasets.low_rank_ratings(20, 30, 2, oversampling=3.0, noise=0.1, seed=0).ratings
plan = gv.Plan(20, 2, gv.networks.path(2), gv.Gossip(max_iter=200))
problems = [gv.CompletionProblem(part, 0.1) for part in gv.datasets.split_users(table, 2)]
with ProgressBar("gossip") as bar:
    result = gv.run(plan, problems, observers=(bar,))
display(result)
"""

# rich recognises a notebook by the name of the class.
SHELL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

class ZMQInteractiveShell(InteractiveShell):
    pass

shell = ZMQInteractiveShell.instance()
with capture_output() as shown:
    shell.run_cell(sys.stdin.read()).raise_error()
outputs = [[one.data, one.transient, one.update] for one in shown.outputs]
print(json.dumps({"stdout": shown.stdout, "stderr": shown.stderr, "outputs": outputs}))
"""


def test_a_cell_shows_one_line_of_progress_and_a_table_of_its_result(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    child = subprocess.run(
        [sys.executable, "-c", SHELL],
        input=CELL,
        env={**os.environ, "IPYTHONDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    shown = json.loads(child.stdout.splitlines()[-1])
    *progress, (result, _, _) = shown["outputs"]
    lines = [data["text/plain"] for data, _, _ in progress]
    assert lines[0] == "gossip" and lines[-1] == "gossip: 100%"
    assert all(line.startswith("gossip: ") for line in lines[1:])
    assert len({transient["display_id"] for _, transient, _ in progress}) == 1
    assert [update for _, _, update in progress] == [False] + [True] * (len(lines) - 1)
    assert result["text/plain"].startswith("<Run: ")
    assert result["text/html"].startswith("<table><caption>Run</caption>")
    assert (shown["stdout"], shown["stderr"]) == ("", "")
