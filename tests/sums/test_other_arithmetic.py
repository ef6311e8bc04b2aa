"""Agents whose arithmetic differs end after the same sums, with points equal up to rounding."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.random import Generator
from tests.sums.cases import (
    CASES,
    GRASSMANN,
    Case,
    agent_of,
    assert_arithmetic_differs,
    assert_equal_up_to_rounding,
    deciding_itself,
)

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import AgentError
from grassvine.foundations.seeds import stream
from grassvine.protocol.observers import AllFinished
from grassvine.sums import SumAgent
from grassvine.sums.own import Data
from grassvine.sums.program import Compute, Part, Program, ProgramOutcome

NETWORK = gv.networks.path(4)
# Builds of BLAS differ by about 1e-16 in an operation and 1e-14 in long sums.
RELATIVE = 1e-13

_svd, _eigh = np.linalg.svd, np.linalg.eigh


def other_signs(matrix: Array) -> tuple[Array, Array, Array]:
    left, sizes, right = _svd(matrix)
    signs = np.where(np.arange(len(sizes)) % 2, 1.0, -1.0)
    left[:, : len(sizes)] *= signs
    right[: len(sizes)] *= signs[:, None]
    return left, sizes, right


def opposite(matrix: Array) -> tuple[Array, Array]:
    values, vectors = _eigh(matrix)
    return values, -vectors


def another_machine(program: Program, rng: Generator) -> Program:
    """Run a program with rounding and signs of singular vectors as on another machine."""

    def rounded(arrays: Sequence[Array | float]) -> list[Array]:
        numbers = [np.asarray(array, dtype=np.float64) for array in arrays]
        return [one * (1.0 + RELATIVE * rng.uniform(-1.0, 1.0, one.shape)) for one in numbers]

    def part(compute: Compute, data: Data) -> list[Array]:
        return rounded(compute(data))

    answer: Any = None
    while True:
        with mock.patch.multiple(np.linalg, svd=other_signs, eigh=opposite):
            try:
                request = program.send(answer)
            except StopIteration as end:
                ending: ProgramOutcome = end.value
                return ending
        if isinstance(request, Part):
            answer = rounded((yield replace(request, compute=partial(part, request.compute))))
        else:
            answer = yield request


def run_on_different_machines(
    case: Case, change: Callable[[Program], Program] = lambda program: program
) -> tuple[Any, str]:
    """Run a case; all agents but the root have another arithmetic."""
    plan = case.plan(NETWORK)
    problems = case.problems(NETWORK.n_agents)

    def make(number: int) -> SumAgent:
        def changed(program: Program) -> Program:
            if number != NETWORK.tree.root:
                program = another_machine(program, stream(number, "another machine"))
            return change(program)

        return agent_of(plan, problems[number], number, changed)

    makers = [partial(make, number) for number in range(NETWORK.n_agents)]
    outcome = gv.LocalEngine().run(makers, plan.timetable, AllFinished(NETWORK.n_agents))
    return outcome.states, outcome.stop_reason


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_all_end_after_the_same_sums_with_points_equal_up_to_rounding(case: Case) -> None:
    states, reason = run_on_different_machines(case)
    assert "limit" not in reason and "timetable" not in reason
    assert_equal_up_to_rounding(states)


def test_without_the_rule_they_come_apart() -> None:
    """One agent ends a fit, with 2 numbers to sum, and another evaluates one more step, with 41."""
    with pytest.raises(AgentError, match="contains checksum 1, sum"):
        run_on_different_machines(CASES["biased, auto"], deciding_itself)


@pytest.mark.parametrize("name", ["biased, auto", "components, blocks", "validated"])
def test_the_result_is_that_of_equal_machines(name: str) -> None:
    case = CASES[name]
    alike = gv.run(case.plan(NETWORK), case.problems(NETWORK.n_agents))
    states, _ = run_on_different_machines(case)
    assert GRASSMANN.distance(states[0]["basis"], alike.bases[0]) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_processes_with_other_kernels_end_after_the_same_sums(name: str, tmp_path: Path) -> None:
    """One process has the kernels of this machine, one those of an old and of any processor."""
    other = {"OPENBLAS_CORETYPE": "Nehalem", "NUMBA_CPU_NAME": "generic"}
    others = {**os.environ, **other}
    pipes = os.pipe(), os.pipe()
    files = [tmp_path / "0.npz", tmp_path / "1.npz"]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.sums.one_member", name, str(number), files[number]],
            stdin=pipes[number][0],
            stdout=pipes[1 - number][1],
            env=others if number else None,
            cwd=Path(__file__).parents[2],
        )
        for number in (0, 1)
    ]
    for end in (*pipes[0], *pipes[1]):
        os.close(end)
    try:
        assert [process.wait(timeout=300) for process in processes] == [0, 0]
    finally:
        for process in processes:
            process.kill()
    states = [dict(np.load(file)) for file in files]
    assert_equal_up_to_rounding(states)
    if kernels(os.environ) != kernels(others):
        assert_arithmetic_differs(name, states)


def kernels(environment: Mapping[str, str]) -> str:
    """Return the architectures for which the BLAS libraries of a new process compute."""
    show = (
        "import numpy, threadpoolctl as t; print([i['architecture'] for i in t.threadpool_info()])"
    )
    command = [sys.executable, "-c", show]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout
