import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.foundations.errors import PlanError
from grassvine.paper import Record, Request, Results
from grassvine.paper.case import Finished, unwatched

RECORD = Record(
    method="gossip",
    dataset="table",
    repeat=0,
    n_agents=3,
    rank=2,
    rho=1.0,
    updates=9,
    train_mse=0.5,
    worst_agent_train_mse=0.6,
    consensus_distance=0.1,
    messages=4,
    bytes=8,
    cpu_seconds=0.01,
)


def results(*changes: dict[str, Any]) -> Results:
    return Results(tuple(Finished(replace(RECORD, **change)) for change in changes))


SEVERAL = results(
    {"method": "b", "rank": 5, "train_mse": 1.0},
    {"method": "a", "rank": 5, "train_mse": 2.0},
    {"method": "b", "rank": 3, "train_mse": 4.0},
    {"method": "b", "rank": 5, "train_mse": 8.0, "repeat": 1},
)


@pytest.mark.parametrize(
    ("figures", "found"),
    [
        ({}, [1.0, 2.0, 4.0, 8.0]),
        ({"method": "b"}, [1.0, 4.0, 8.0]),
        ({"method": "b", "rank": 5}, [1.0, 8.0]),
        ({"repeat": 1}, [8.0]),
        ({"method": "c"}, []),
    ],
)
def test_where_takes_the_runs_with_all_of_the_figures(
    figures: dict[str, Any], found: list[float]
) -> None:
    assert SEVERAL.where(**figures).values("train_mse").tolist() == found


def test_where_can_be_narrowed_and_leaves_the_rest_alone() -> None:
    assert SEVERAL.where(method="b").where(rank=3).first is SEVERAL.finished[2]
    assert len(SEVERAL.finished) == 4


def test_a_figure_that_no_record_has_is_an_error() -> None:
    with pytest.raises(AttributeError, match="colour"):
        SEVERAL.where(colour="red")


def test_each_gives_different_values_in_the_order_of_runs() -> None:
    assert SEVERAL.each("method") == ["b", "a"]
    assert SEVERAL.each("rank") == [5, 3]
    assert results({"rho": None}, {"rho": 1.0}).each("rho") == [None, 1.0]


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12))
def test_means_and_standard_errors_are_those_of_the_formula(values: list[float]) -> None:
    runs = results(*({"train_mse": value} for value in values))
    n = len(values)
    mean = sum(values) / n
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)
    # Sums of at most twelve numbers of at most 1e3; a root halves the digits near 0.
    assert runs.mean("train_mse") == pytest.approx(mean, rel=1e-12, abs=1e-11)
    assert runs.standard_error("train_mse") == pytest.approx(error, rel=1e-9, abs=1e-9)
    assert runs.worst("train_mse") == max(values)


def test_one_run_has_no_standard_error_and_no_run_no_mean() -> None:
    assert math.isnan(results({}).standard_error("train_mse"))
    assert results({}).mean("train_mse") == 0.5
    assert math.isnan(Results(()).mean("train_mse"))
    assert math.isnan(Results(()).standard_error("train_mse"))


def test_a_figure_without_meaning_counts_as_unknown() -> None:
    assert np.isnan(results({}).values("nmse")).all()
    assert math.isnan(results({}).mean("nmse"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed is -1; choose a number of at least 0"),
        ({"seed": 1.0}, "seed must be an integer, not 1.0"),
        ({"repeats": 0}, "repeats is 0; choose a number of at least 1"),
        ({"n_agents": 1}, "agents is 1; choose a number of at least 2"),
        ({"n_agents": "six"}, "agents must be an integer, not 'six'"),
    ],
)
def test_an_impossible_request_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        Request(**options)


def test_a_request_leaves_choices_to_the_case_and_watches_nothing() -> None:
    request = Request()
    assert (request.scale, request.seed, request.tune) == ("small", 0, False)
    assert request.repeats is None and request.n_agents is None and request.datasets == ()
    with unwatched("title", 3) as observer:
        assert observer is None
