import gc
from collections.abc import Callable
from dataclasses import dataclass, replace
from weakref import ref

import numpy as np
import pytest

import grassvine as gv
from grassvine.sums.biased import descent
from grassvine.sums.common import computed_once, kept_with_state, same_bits
from grassvine.sums.descent import Point


@dataclass(frozen=True, eq=False)
class Sum:
    total: np.ndarray
    label: str = ""


def counted() -> tuple[list[float], Callable[[Sum, list[np.ndarray]], Sum]]:
    calls: list[float] = []

    @kept_with_state
    @computed_once
    def step(last: Sum, numbers: list[np.ndarray]) -> Sum:
        calls.append(float(numbers[0][0]))
        return Sum(last.total + numbers[0])

    return calls, step


def test_equal_arguments_share_one_result() -> None:
    calls, step = counted()
    one, other = Sum(np.arange(3.0)), Sum(np.arange(3.0))
    results = [step(last, [np.ones(3)]) for last in (one, one, other)]
    assert len(calls) == 1 and results[0] is results[1] is results[2]


@pytest.mark.parametrize(
    "other",
    [Sum(np.array([0.0, 1.0])), Sum(np.array([-0.0, 2.0])), Sum(np.array([0.0, 2.0]), "b")],
)
def test_one_different_bit_is_computed_apart(other: Sum) -> None:
    calls, step = counted()
    one = Sum(np.array([0.0, 2.0]))
    results = step(one, [np.ones(2)]), step(other, [np.ones(2)])
    assert len(calls) == 2 and results[0] is not results[1]


def test_a_result_is_kept_for_those_who_have_its_first_argument() -> None:
    calls, step = counted()
    one, numbers = Sum(np.zeros(2)), [np.ones(2)]
    first = ref(step(one, numbers))
    step(one, numbers)
    assert len(calls) == 1
    del one
    gc.collect()
    assert first() is None


@computed_once
def begun(origin: Sum) -> Sum:
    return Sum(origin.total.copy())


def test_a_chain_of_results_is_forgotten_behind_its_last_user() -> None:
    _, step = counted()
    now, before = begun(origin := Sum(np.zeros(2))), []
    for _ in range(5):
        before.append(ref(now))
        now = step(now, [np.ones(2)])
    gc.collect()
    assert [one() for one in before] == [None] * 5 and origin is not None


def test_a_failed_step_fails_for_every_agent() -> None:
    @computed_once
    def fail(number: int) -> Sum:
        raise ValueError(f"{number}")

    for _ in range(2):
        with pytest.raises(ValueError, match="3"):
            fail(3)


def test_bits_of_all_kinds() -> None:
    nan = float("nan")
    value = {"a": (1, nan, [np.array([nan, 1.0])]), "b": None}
    equal = {"a": (1, nan, [np.array([nan, 1.0])]), "b": None}
    assert same_bits(value, equal)
    assert not same_bits(value, {"b": None, "a": value["a"]})
    for one, other in ((1, 1.0), (0.0, -0.0), ([1], [1, 2]), (np.zeros(2), np.zeros((2, 1)))):
        assert not same_bits(one, other)
    # The same memory read in another order is another matrix.
    square = np.arange(4.0).reshape(2, 2)
    assert not same_bits(square, square.T)


def test_agents_of_a_process_compute_each_step_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = gv.datasets.low_rank_ratings(20, 60, 2, oversampling=4.0, seed=3)
    evaluated, alive = [], []
    point = Point

    def watched(*arguments: object) -> object:
        evaluated.append(1)
        alive.append(sum(type(one) is point for one in gc.get_objects()))
        return point(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(descent, "Point", watched)
    method = gv.sums.BiasedFactorization(regularization=2.0)
    bits = []
    for n_agents in (1, 6):
        evaluated.clear()
        parts = gv.datasets.split_users(data.ratings, n_agents)
        problems = [gv.BiasedCompletionProblem(part) for part in parts]
        run = gv.run(gv.Plan(20, 2, gv.networks.ring(n_agents), method), problems)
        n_sums = int(run.states[0]["updates"][0])
        assert len(evaluated) == n_sums - 1  # the first sum is that of the statistics
        bits.append({state["factors"].tobytes() for state in run.states})
    assert len(bits[1]) == 1
    # What no agent can ask for any more is forgotten while the run goes on.
    assert max(alive) <= 3


def test_an_agent_with_other_options_is_not_given_the_step_of_another() -> None:
    criteria = descent.StoppingCriteria()
    calls = []

    @computed_once
    def step(options: descent.StoppingCriteria) -> Sum:
        calls.append(options.tol)
        return Sum(np.array([options.tol]))

    kept = [step(criteria), step(replace(criteria, tol=0.1)), step(replace(criteria))]
    assert calls == [criteria.tol, 0.1] and kept[2] is kept[0]
