"""A check that never fails proves nothing: each is shown something broken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.checks.derivatives import taylor_slope
from grassvine.engines.base import AgentFactory, EngineResult, create_agents
from grassvine.engines.in_process import Result, run_slots
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import CheckFailed
from grassvine.foundations.seeds import stream
from grassvine.networks import Timetable
from grassvine.problems import Evaluation
from grassvine.protocol import Agent, Message, Observer


def test_a_slope_is_that_of_the_smallest_clear_steps() -> None:
    assert taylor_slope(lambda t: (3 * t**2, 1.0)) == pytest.approx(2.0)
    # A derivative that is wrong by a millionth is found though larger steps look quadratic.
    assert taylor_slope(lambda t: (3 * t**2 + 1e-6 * t, 1.0)) < 1.9


@dataclass(frozen=True)
class Spoiled(gv.CompletionProblem):
    """The printed formulas of the paper: the gradient of Table 1 lacks the λ term."""

    def evaluate(self, basis: Array) -> Evaluation:
        right = super().evaluate(basis)
        lam = self.unobserved
        without = gv.CompletionProblem(self.ratings)
        weights = self.weights(basis)
        users = without.ratings.users_of_values()
        fitted = np.sum(weights[users] * basis[without.ratings.items], axis=1)
        gradient = np.zeros_like(basis)
        np.add.at(
            gradient,
            without.ratings.items,
            (fitted - without.ratings.values)[:, None] * weights[users],
        )
        assert lam > 0.0
        return replace(right, gradient=gradient)


def test_the_gradient_printed_in_the_paper_fails_the_taylor_check() -> None:
    problem = gv.CompletionProblem(ratings(), unobserved=0.1)
    assert gv.checks.check_gradient(problem, 3) == pytest.approx(2.0, abs=0.1)
    with pytest.raises(CheckFailed, match=r"the Taylor slope is 1\.0"):
        gv.checks.check_gradient(Spoiled(ratings(), unobserved=0.1), 3)


@pytest.mark.parametrize("part", ["cost", "gradient", "both"])
def test_float32_is_named_as_the_cause(part: str) -> None:
    samples = stream(2, "data", "float32").standard_normal((50, 9))

    def function(basis: Array) -> Any:
        right = gv.PCAProblem(samples).evaluate(basis)
        if part == "both":
            single = samples.astype(np.float32)
            weights = single @ basis.astype(np.float32)
            return float(-0.5 * np.sum(weights * weights)), -(single.T @ weights)
        if part == "cost":
            return float(np.float32(right.cost)), right.gradient
        return right.cost, right.gradient.astype(np.float32)

    name = "gradient" if part == "gradient" else "cost"
    message = f"in double precision: the {name} has the digits of float32 only"
    with pytest.raises(CheckFailed, match=message):
        gv.checks.check_problem(gv.CustomProblem(9, function), 3)


@dataclass(frozen=True)
class WrongHessian(gv.CompletionProblem):
    def hessian_product(self, basis: Array, direction: Array) -> Array:
        return 1.001 * super().hessian_product(basis, direction)


def test_a_wrong_hessian_is_found() -> None:
    with pytest.raises(CheckFailed, match="the Hessian product must be the derivative"):
        gv.checks.check_hessian(WrongHessian(ratings()), 3)
    with pytest.raises(CheckFailed, match="CustomProblem has no hessian_product to check"):
        gv.checks.check_hessian(gv.CustomProblem(N_ITEMS, lambda u: (0.0, u)), 3)


@dataclass(frozen=True)
class ArccosGrassmann(gv.geometry.Grassmann):
    """Table 1 taken literally: half the squared log as the squared distance."""

    def distance(self, point: Array, other: Array) -> float:
        return super().distance(point, other) / np.sqrt(2)


def test_a_wrong_distance_is_found() -> None:
    with pytest.raises(CheckFailed, match="the distance must be the norm of log"):
        gv.checks.check_geometry(ArccosGrassmann(), 12, 3)


@dataclass(frozen=True)
class Impatient:
    """An engine that lets agents of one slot see each other's moves."""

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        late: list[Agent] = [_Late(agent) for agent in create_agents(factories)]  # type: ignore[misc]
        return run_slots(late, timetable, observe, _in_turn)


class _Late:
    """Makes its message when it is read, not when the slot begins."""

    def __init__(self, agent: Agent):
        self._agent = agent

    def __getattr__(self, name: str) -> object:
        return getattr(self._agent, name)

    def outgoing(self, slot: int) -> Message:
        return _LateMessage(self._agent, slot)  # type: ignore[return-value]


class _LateMessage:
    def __init__(self, agent: Agent, slot: int):
        self._agent = agent
        self._slot = slot

    def __getattr__(self, name: str) -> object:
        return getattr(self._agent.outgoing(self._slot), name)


@dataclass(frozen=True)
class Backwards:
    """An engine that reports the agents of a slot in the wrong order."""

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        agents = create_agents(factories)
        return run_slots(agents, timetable, observe, lambda acts: [act() for act in acts][::-1])


@dataclass(frozen=True)
class Forgetful:
    """An engine that leaves out the last slot."""

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        slots = [timetable.deliveries(slot) for slot in range(timetable.n_slots - 1)]
        shorter = Timetable.from_deliveries(timetable.n_agents, slots)
        return run_slots(create_agents(factories), shorter, observe, _in_turn)


def _in_turn(actions: Sequence[Callable[[], Result]]) -> list[Result]:
    return [action() for action in actions]


@pytest.mark.parametrize(
    ("engine", "law"),
    [
        (Impatient(), "an engine must return the same bases as LocalEngine"),
        (Backwards(), "an engine must return the same history as LocalEngine"),
        (Forgetful(), "an engine must return the same bases as LocalEngine"),
    ],
)
def test_an_engine_that_breaks_the_contract_is_found(engine: object, law: str) -> None:
    with pytest.raises(CheckFailed, match=law):
        gv.checks.check_engine(engine)  # type: ignore[arg-type]
