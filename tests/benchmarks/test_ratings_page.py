"""The page says what the results say, and what could not be measured."""

from typing import Any

import numpy as np
import pytest
from benchmarks.ratings.page import page
from benchmarks.ratings.rows import ROWS

STAMP = {"date": "2026-01-01", "machine": "a machine", "versions": "Python 3"}


def result(split: str, method: str, rmse: float, **more: Any) -> dict[str, Any]:
    sizes = {"n_train": 800, "n_test": 200, "known": 0.9}
    costs = {"cpu_seconds": 1.0, "bytes": 2e6, "sums": 26.0, "rank": 10}
    errors = {"rmse": rmse, "rmse_known": rmse, "mae": 0.7}
    where = {"row": "ml-1m-90", "kind": "error", "split": split, "method": method}
    return {**where, **errors, **sizes, **costs, **STAMP, **more}


def table(text: str, first: str) -> list[str]:
    """The cells of the line that starts with a label, below the title of the row."""
    (line,) = [
        line for line in text.split("## ")[1].splitlines() if line.startswith(f"| {first} |")
    ]
    return [cell.strip() for cell in line.strip("|").split("|")]


RESULTS = [
    result("seed 0", "default", 0.80, coverage=0.9, coverage_widest=0.87, width=2.5),
    result("seed 1", "default", 0.84, coverage=0.88, coverage_widest=0.85, width=2.5),
    result("seed 0", "map", 0.83),
    result("seed 1", "map", 0.85),
    result("seed 2", "map", 0.99),  # not measured with the default: no difference
]


def test_means_standard_errors_and_differences_on_the_same_splits() -> None:
    text = page(RESULTS)
    assert table(text, "default")[2] == f"0.8200 ± {np.std([0.8, 0.84], ddof=1) / 2**0.5:.4f}"
    assert (
        table(text, "MAP, rank 10")[5] == f"+0.0200 ± {np.std([0.03, 0.01], ddof=1) / 2**0.5:.4f}"
    )
    assert "90% intervals of default: coverage 0.890, in the fifth of the largest" in text
    assert "3 splits, 800 ratings for training and 200 for testing, 90.0% of them" in text


def test_a_repeated_measurement_replaces_the_one_before() -> None:
    text = page([*RESULTS, result("seed 0", "default", 0.82)])
    assert table(text, "default")[2].startswith("0.8300 ")


def test_agents_are_listed_by_number() -> None:
    runs = [
        result("seed 0", "default", 0.8, kind="agents", agents=agents, difference=difference)
        for agents, difference in ((10, 1e-13), (1, 0.0))
    ]
    text = page([*RESULTS, *runs])
    assert table(text, "10") == ["10", "0.800000", "1e-13", "26", "2.0", "1.0"]
    assert text.index("\n| 1 | 0.8") < text.index("\n| 10 | 0.8")


def test_what_was_not_measured_says_why_and_keeps_the_published_figures() -> None:
    skipped = {"row": "douban", "kind": "skipped", "why": "the file is absent.", **STAMP}
    text = page([skipped])
    assert "Not measured: the file is absent." in text
    for published in ROWS["douban"].published:
        assert f"{published.method} ({published.source}) | {published.rmse}" in text


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_published_figures_are_numbers_with_a_split_and_a_source(row: Any) -> None:
    for one in row.published:
        assert 0.0 < float(one.rmse) < 30.0
        assert one.split and one.source and one.selection
