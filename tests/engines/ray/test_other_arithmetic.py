"""Agents on Ray nodes of different kinds end after the same sums, with points equal up to rounding.

With ``-s`` the tests print by how much the shared parts differ.
"""

import importlib.util
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.engines.machines import DIFFERENT, Machine, other_numpy, why_no_other_numpy
from tests.engines.ray.different_nodes import DIGESTS, different_nodes, run_cases
from tests.sums.cases import (
    CASES,
    assert_arithmetic_differs,
    assert_equal_up_to_rounding,
    largest_difference,
)

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra ray)"
    ),
]
NO_OTHER_NUMPY = why_no_other_numpy()


@dataclass(frozen=True)
class Ran:
    """What all cases left in a folder, with an agent on each machine."""

    machines: tuple[Machine, ...]
    folder: Path


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """All cases, run once; a machine with another NumPy takes part if there is one."""
    folder = tmp_path_factory.mktemp("nodes")
    machines = DIFFERENT if NO_OTHER_NUMPY else (*DIFFERENT, other_numpy())
    with different_nodes(machines, folder) as address:
        run_cases(machines, address, folder)
    return Ran(machines, folder)


@pytest.mark.parametrize("name", CASES)
def test_agents_on_different_nodes_stay_together(name: str, ran: Ran) -> None:
    files = [ran.folder / f"{name} {number}.npz" for number in range(len(ran.machines))]
    states = [dict(np.load(file)) for file in files]
    (reason,) = set(json.loads((ran.folder / f"{name}.json").read_text()))
    assert "limit" not in reason
    sys.stdout.write(
        f"Ray: {name}: {states[0]['updates'].item()} sums, {largest_difference(states):.1e}\n"
    )
    assert_equal_up_to_rounding(states)
    assert_arithmetic_differs(name, states)


def test_each_node_computed_as_its_machine_does(ran: Ran) -> None:
    found = json.loads((ran.folder / DIGESTS).read_text())
    assert found == [machine.arithmetic() for machine in ran.machines]


@pytest.mark.skipif(NO_OTHER_NUMPY is not None, reason=str(NO_OTHER_NUMPY))
def test_a_node_with_another_numpy_took_part(ran: Ran) -> None:
    versions = [found["numpy"] for found in json.loads((ran.folder / DIGESTS).read_text())]
    assert versions[-1] != versions[0]
