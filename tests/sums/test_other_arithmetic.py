"""Agents whose arithmetic differs end after the same sums, with points equal up to rounding."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.random import Generator
from tests.samples import N_ITEMS, ratings, scarce_ratings, tasks
from tests.sums.biased.test_method import table
from tests.sums.test_components import sorted_samples
from tests.sums.test_validated import ITEMS, noisy, truth

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import AgentError
from grassvine.foundations.seeds import stream
from grassvine.protocol.observers import AllFinished
from grassvine.sums import BiasedFactorization, Exact, SumAgent, Validated
from grassvine.sums.program import Compute, Decision, Part, Program, ProgramOutcome

NETWORK = gv.networks.path(4)
GRASSMANN = gv.geometry.Grassmann()
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

    def part(compute: Compute) -> list[Array]:
        return rounded(compute())

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


def deciding_itself(program: Program) -> Program:
    """Run a program without the rule: every agent takes its own decisions."""
    answer: Any = None
    while True:
        try:
            request = program.send(answer)
        except StopIteration as end:
            ending: ProgramOutcome = end.value
            return ending
        if isinstance(request, Decision):
            answer = [np.array(request.value)]
        else:
            answer = yield request


@dataclass(frozen=True)
class Case:
    n_items: int
    rank: int
    method: Any
    data: Any
    split: Callable[..., Any]
    problem: Callable[[Any], Any]


def completion(n_items: int, data: Any, method: Any = None, **options: Any) -> Case:
    make = partial(gv.CompletionProblem, **options)
    return Case(n_items, 3, method or Exact(), data, gv.datasets.split_users, make)


def components(n_samples: int, spread: Array, share: float = 0.0) -> Case:
    method = Exact(explained_variance_ratio=share)
    samples = sorted_samples(n_samples, spread)
    return Case(len(spread), 4, method, samples, gv.datasets.split_samples, gv.PCAProblem)


def biased(**options: Any) -> Case:
    method = BiasedFactorization(**options)
    return Case(40, 3, method, table(), gv.datasets.split_users, gv.BiasedCompletionProblem)


LOW = gv.datasets.low_rank_ratings(60, 500, 3, oversampling=5.0, seed=1).ratings
HARD = gv.datasets.low_rank_ratings(60, 300, 3, oversampling=1.7, condition=50.0, seed=2).ratings
WIDE = np.r_[np.arange(1.0, 121.0) ** -0.7, np.zeros(1900)]
CASES = {
    "by rank": completion(60, LOW),
    "by rank, few entries": completion(60, HARD),
    "by rank, restarted": completion(N_ITEMS, ratings()),
    "by rank, λ > 0": completion(N_ITEMS, ratings(), unobserved=0.1),
    "by rank, μ > 0": completion(N_ITEMS, scarce_ratings(), tikhonov=0.5),
    "random start": completion(60, LOW, Exact(by_rank=False)),
    "tasks": Case(
        N_ITEMS,
        2,
        Exact(),
        tasks(),
        gv.datasets.split_tasks,
        partial(gv.MultitaskProblem, alpha=0.5),
    ),
    "components, one sum": components(300, np.geomspace(3.0, 0.3, 30)),
    "components, blocks": components(300, np.geomspace(3.0, 0.3, 150)),
    "components, restarted": components(400, np.linspace(1.5, 1.0, 300)),
    "components, few samples": components(20, np.linspace(2.0, 1.0, 300)),
    "share of variance, one sum": components(300, np.geomspace(3.0, 0.3, 30), 0.9),
    "share of variance, blocks": components(300, WIDE, 0.6),
    "validated": completion(ITEMS, noisy(truth()), Validated(any_rank=True)),
    "validated, λ given": completion(ITEMS, noisy(truth()), Validated(unobserved=0.1)),
    "biased": biased(regularization=2.0),
    "biased, auto": biased(),
    "biased, auto, ranks": biased(ranks=(0, 1, 3)),
}


def agent_of(
    case: Case,
    number: int,
    network: gv.networks.Network,
    change: Callable[[Program], Program] = lambda program: program,
) -> tuple[SumAgent, gv.networks.Timetable]:
    """Return an agent of a case, with its program changed, and the timetable."""
    plan = gv.Plan(case.n_items, case.rank, network, case.method, seed=5)
    problem = case.problem(case.split(case.data, network.n_agents)[number])
    program = case.method.program(problem, plan.start(0), plan.seed)
    return SumAgent(number, problem, change(program), network.tree), plan.timetable


def run_on_different_machines(
    case: Case, change: Callable[[Program], Program] = lambda program: program
) -> tuple[Any, str]:
    """Run a case; all agents but the root have another arithmetic."""

    def make(number: int) -> SumAgent:
        def changed(program: Program) -> Program:
            if number != NETWORK.tree.root:
                program = another_machine(program, stream(number, "another machine"))
            return change(program)

        return agent_of(case, number, NETWORK, changed)[0]

    makers = [partial(make, number) for number in range(NETWORK.n_agents)]
    timetable = gv.Plan(case.n_items, case.rank, NETWORK, case.method).timetable
    outcome = gv.LocalEngine().run(makers, timetable, AllFinished(NETWORK.n_agents))
    return outcome.states, outcome.stop_reason


def assert_equal_up_to_rounding(states: Sequence[Any]) -> None:
    """Check the number of sums, the candidates and the shared parts."""
    first = states[0]
    for state in states:
        assert state.keys() == first.keys()
        assert state["updates"] == first["updates"]
        for name, array in state.items():
            if name == "basis":  # its columns may have other signs
                assert GRASSMANN.distance(array, first[name]) < 1e-8
            elif name in ("candidate_rank", "candidate_n_sums", "candidate_chosen"):
                np.testing.assert_array_equal(array, first[name])
            else:
                np.testing.assert_allclose(array, first[name], rtol=1e-8, atol=1e-8)


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
    plan = gv.Plan(case.n_items, case.rank, NETWORK, case.method, seed=5)
    alike = gv.run(plan, [case.problem(part) for part in case.split(case.data, NETWORK.n_agents)])
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
        assert any(array.tobytes() != states[1][key].tobytes() for key, array in states[0].items())


def kernels(environment: Mapping[str, str]) -> str:
    """Return the architectures for which the BLAS libraries of a new process compute."""
    show = (
        "import numpy, threadpoolctl as t; print([i['architecture'] for i in t.threadpool_info()])"
    )
    command = [sys.executable, "-c", show]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout
