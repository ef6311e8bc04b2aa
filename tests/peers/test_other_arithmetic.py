"""The whole ceremony between houses with different machines: their models are equal up to rounding.

With ``-s`` the tests print by how much the shared parts differ.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file
from tests.engines.machines import (
    DIFFERENT,
    REPOSITORY,
    Machine,
    other_numpy,
    why_no_other_numpy,
)
from tests.engines.peers.loopback_engine import free_ports
from tests.peers.houses import learning, write_tables
from tests.sums.cases import largest_difference

from grassvine.peers.identity.identity import create_identity
from grassvine.peers.identity.words import words_of
from grassvine.peers.plan.group_plan import GroupPlan

pytestmark = pytest.mark.slow
PROGRAM = "from grassvine.cli import main; main()"
WITHOUT = why_no_other_numpy()
MACHINES = {
    "other kernels": DIFFERENT,
    "another NumPy": DIFFERENT if WITHOUT else (*DIFFERENT, other_numpy()),
}


def join(machine: Machine, house: Path, plan: GroupPlan, table: Path) -> "subprocess.Popen[str]":
    """Start the command of a house."""
    arguments = [
        *("peer", "join", house.parent / "plan.toml", table, "-o", house / "model"),
        *("--folder", house / "private", "--words", words_of(plan.digest), "--json"),
    ]
    return subprocess.Popen(
        [machine.python, "-c", PROGRAM, *map(str, arguments)],
        cwd=REPOSITORY,
        env=machine.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("kind", "options"),
    [("ratings", {"holdout": 0.1}), ("tasks", {"holdout": 0.2}), ("pca", {})],
)
@pytest.mark.parametrize("group", MACHINES)
def test_houses_with_different_machines_save_the_same_model_up_to_rounding(
    group: str, kind: str, options: dict[str, Any], tmp_path: Path
) -> None:
    if group == "another NumPy" and WITHOUT:
        pytest.skip(WITHOUT)
    machines = MACHINES[group]
    houses = [tmp_path / f"clinic-{number}" for number in range(len(machines))]
    cards = [
        create_identity(house.name, f"127.0.0.1:{port}", house / "private").card
        for house, port in zip(houses, free_ports(len(houses)), strict=True)
    ]
    plan = GroupPlan.draft(cards, learning(kind, **options), seed=2, patience=60.0, secrecy="none")
    plan.save(tmp_path / "plan.toml")
    _, tables = write_tables(tmp_path, kind, len(houses))
    running = [join(*each) for each in zip(machines, houses, [plan] * 4, tables, strict=False)]
    ended = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0] * len(running), ended
    said = [json.loads(out) for out, _ in ended]
    shared = [load_file(house / "model" / "shared.safetensors") for house in houses]
    difference = largest_difference(shared)
    sys.stdout.write(f"join: {kind}, {group}: {difference:.1e}\n")
    assert difference < 1e-8
    if kind != "pca":
        errors = [one["held_out_rmse"] for one in said]
        assert max(errors) - min(errors) < 1e-8
