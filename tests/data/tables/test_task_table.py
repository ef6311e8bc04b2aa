from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from grassvine.data.tables import tasks_from_frame
from grassvine.foundations.errors import DataError

COLUMNS: dict[str, list[Any]] = {
    "school": ["south", "north", "south", "north", "south"],
    "age": [1, 2, 3, 4, 5],
    "score": [5.0, 4.0, 3.0, 2.0, 1.0],
    "girl": [True, False, True, True, False],
}


@pytest.mark.parametrize("library", [pl.DataFrame, pd.DataFrame, pa.table])
def test_rows_go_to_their_tasks(library: Any) -> None:
    table = tasks_from_frame(library(COLUMNS), target="score", task="school")
    assert table.ids.series.to_list() == ["north", "south"]
    assert table.features == ("age", "girl")
    assert [x.tolist() for x in table.tasks.features] == [
        [[2, 0], [4, 1]],
        [[1, 1], [3, 1], [5, 0]],
    ]
    assert [y.tolist() for y in table.tasks.targets] == [[4, 2], [5, 3, 1]]
    assert table.assumed == ("The features are 'age', 'girl'.",)


def test_features_are_those_named_in_their_order() -> None:
    frame = pl.DataFrame(COLUMNS | {"name": list("abcde")})
    table = tasks_from_frame(frame, target="score", task="school", features=["girl", "age"])
    assert table.features == ("girl", "age")
    assert table.tasks.features[0].tolist() == [[0, 2], [1, 4]]
    assert table.assumed == ()


def test_tasks_that_are_hard_to_judge_are_reported() -> None:
    frame = pl.DataFrame({"t": [1, 2, 2, 3, 4, 4], "x": range(6), "y": [0.0, 5, 5, 1, 2, 3]})
    table = tasks_from_frame(frame, target="y", task="t")
    assert table.assumed[1:] == (
        "2 tasks (1, 3) have only one row; none can be held out.",
        "Task 2 has the same 'y' in every row; an error relative to its variance is undefined.",
    )


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        ({"age": [1, 2, None, 4, 5]}, {}, "'age' is missing, NaN or infinite in 1 of 5 rows "
         r"\(row 2, counting from 0; the first belongs to task 'south'\); remove"),
        ({"age": [np.nan] * 5}, {}, "the feature 'age' is .* in 5 of 5 rows .rows 0, 1, 2, …, cou"),
        ({"score": [1, np.inf, 2, 3, 4]}, {}, "the target 'score' is .* belongs to task 'north'"),
        ({"age": list("abcde")}, {}, "5 of 5 values in column 'age' are not numbers, .*: 'a', "
         "'b', 'c', …; use numbers. Or exclude this column from the features"),
        ({"score": list("abcde")}, {}, "values in column 'score' are not numbers"),
        ({"school": ["a", None, "b", "b", "b"]}, {}, r"1 of 5 task ids are missing \(row 1, co"),
        ({}, {"target": "scor"}, "no column 'scor' for the targets; did you mean 'score'"),
        ({}, {"task": "class"}, "no column 'class' for the tasks; .*The columns are 'school'"),
        ({}, {"features": ["ages"]}, "no column 'ages' for the features; did you mean 'age'"),
        ({}, {"features": []}, "there are no features to predict from; .* The columns are"),
        ({}, {"features": "age"}, "features is the string 'age'; pass a list of columns"),
        ({}, {"features": ["age", "age"]}, "the feature 'age' is listed twice; list it once"),
        ({}, {"features": ["age", "score"]}, "share a column; choose different columns"),
        ({}, {"target": "school"}, "share a column; choose different columns"),
    ],
)  # fmt: skip
def test_messages_name_the_column_and_the_task(
    changed: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    frame = pl.DataFrame(COLUMNS | changed, strict=False)
    with pytest.raises(DataError, match=message):
        tasks_from_frame(frame, **({"target": "score", "task": "school"} | options))
