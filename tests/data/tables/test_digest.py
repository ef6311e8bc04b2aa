import re
from typing import Any

import polars as pl
import pytest

from grassvine.data.tables import (
    ratings_from_arrays,
    ratings_from_frame,
    tasks_from_frame,
)

ROWS = [("a", "x", 1.0), ("bc", "y", 2.0), ("a", "y", 0.0)]


def digest(rows: list[Any]) -> str:
    return ratings_from_arrays(*zip(*rows, strict=True)).digest()


def test_the_order_of_rows_and_the_owners_do_not_matter() -> None:
    assert re.fullmatch("[0-9a-f]{64}", digest(ROWS))
    assert digest(ROWS[::-1]) == digest(ROWS)
    assert digest([*ROWS[:2], ("a", "y", -0.0)]) == digest(ROWS)
    frame = pl.DataFrame(ROWS, schema=["user", "item", "rating"], orient="row")
    owned = frame.with_columns(agent=pl.col("user"))
    assert ratings_from_frame(owned, agent="agent").digest() == digest(ROWS)


@pytest.mark.parametrize(
    "rows",
    [
        ROWS[:2],
        [("a", "x", 1.5), *ROWS[1:]],
        [("b", "x", 1.0), *ROWS[1:]],
        [("ab", "x", 1.0), ("c", "y", 2.0), ("ab", "y", 0.0)],
        [(item, user, rating) for user, item, rating in ROWS],
    ],
)
def test_whatever_is_learned_from_matters(rows: list[Any]) -> None:
    assert digest(rows) != digest(ROWS)


def test_text_and_numbers_differ() -> None:
    assert digest([(7, 1, 1.0)]) != digest([("7", 1, 1.0)]) != digest([(7.0, 1, 1.0)])


def test_tasks_have_a_hash_too() -> None:
    frame = pl.DataFrame({"t": [1, 2, 1], "x": [1.0, 2.0, 3.0], "y": [0.0, 5.0, 6.0]})

    def of(frame: pl.DataFrame) -> str:
        return tasks_from_frame(frame, target="y", task="t").digest()

    assert of(frame.reverse()) == of(frame)
    assert of(frame.rename({"x": "z"})) != of(frame)
    assert of(frame.with_columns(pl.col("y") + 1)) != of(frame)
