import math
from dataclasses import replace

import numpy as np
import pytest
from tests.paper.test_case_types import RECORD

from grassvine.paper.case import Finished
from grassvine.paper.curves import curve, format_updates, sooner, updates_to, value_at
from grassvine.protocol import History, StepReport
from grassvine.protocol.history import Recorder


def history(*rows: tuple[int, float, float]) -> History:
    """Rows (agent, mse, distance); the last of each agent is its final state."""
    recorder = Recorder()
    count: dict[int, int] = {}
    for slot, (agent, mse, distance) in enumerate(rows):
        update = count.get(agent, 0)
        count[agent] = update + 1
        last = all(other != agent for other, _, _ in rows[slot + 1 :])
        recorder(
            StepReport(
                agent=agent,
                slot=slot,
                update=update,
                cost=mse,
                mse=mse,
                gradient_norm=0.0,
                neighbour=-1 if last else 1 - agent,
                distance=math.nan if last else distance,
            )
        )
    return recorder.history()


def run_of(agent: int, errors: list[float]) -> Finished:
    """The errors of one agent, those of another being mixed with them."""
    rows = [row for error in errors for row in ((agent, error, error), (agent + 1, 77.0, 77.0))]
    return Finished(RECORD, history(*rows))


def test_a_curve_is_the_column_of_one_agent_by_its_updates() -> None:
    updates, values = curve(run_of(1, [4.0, 2.0, 1.0]), 1, "mse")
    assert (updates.tolist(), values.tolist()) == ([0.0, 1.0, 2.0], [4.0, 2.0, 1.0])
    assert updates.dtype == np.float64


@pytest.mark.parametrize(
    ("errors", "goal", "expected"),
    [
        ([4.0, 2.0, 1.0], 2.0, 1),
        ([4.0, 2.0, 1.0], 4.0, 0),
        ([4.0, 2.0, 1.0], 0.5, None),
        ([4.0, 1.0, 3.0, 1.0, 1.0], 2.0, 3),  # below it once, but did not stay
        ([1.0, 1.0, 3.0], 2.0, None),
    ],
)
def test_updates_to_a_goal_count_until_it_is_kept(
    errors: list[float], goal: float, expected: int | None
) -> None:
    assert updates_to(run_of(0, errors), 0, "mse", goal) == expected


def test_the_distance_of_the_final_state_is_unknown_and_does_not_count() -> None:
    one = run_of(0, [4.0, 2.0, 1.0])  # the last row has no distance
    assert np.isnan(curve(one, 0, "distance")[1][-1])
    assert updates_to(one, 0, "distance", 2.0) == 1
    assert updates_to(one, 0, "distance", 1.0) is None


@pytest.mark.parametrize(("update", "expected"), [(0, 4.0), (1, 2.0), (2, 1.0), (50, 1.0)])
def test_a_value_is_that_of_the_update_or_of_the_last_one(update: int, expected: float) -> None:
    assert value_at(run_of(1, [4.0, 2.0, 1.0]), 1, "mse", update) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (3, 4, True),
        (4, 4, False),
        (5, 4, False),
        (3, None, True),
        (None, 4, False),
        (None,) * 2 + (False,),
    ],
)
def test_sooner_needs_to_arrive_at_all(one: int | None, other: int | None, expected: bool) -> None:
    assert sooner(one, other) is expected


def test_numbers_of_updates_are_formatted() -> None:
    assert format_updates(7) == "7"
    assert format_updates(None) == "not reached"


def test_a_batch_method_has_no_curve() -> None:
    with pytest.raises(AssertionError, match="a batch method has no agents and no history"):
        curve(Finished(replace(RECORD, method="batch")), 0, "mse")
