from operator import eq, ne
from typing import Any

import pytest

from grassvine.protocol import StepReport

REPORT = StepReport(agent=1, slot=2, update=3, cost=4.0, mse=5.0, gradient_norm=6.0, messages=1)


def test_reports_are_equal_whatever_they_show_of_the_progress() -> None:
    shown = REPORT._replace(share=0.5, held_out=0.9)
    assert eq(shown, REPORT) and not ne(shown, REPORT) and hash(shown) == hash(REPORT)


@pytest.mark.parametrize(
    "name", [one for one in StepReport._fields if one not in ("share", "held_out")]
)
def test_reports_that_differ_in_what_is_recorded_are_not_equal(name: str) -> None:
    changes: dict[str, Any] = {name: "other" if name == "finished" else 9}
    other = REPORT._replace(**changes)
    assert ne(other, REPORT) and not eq(other, REPORT)


def test_a_report_is_not_equal_to_its_numbers() -> None:
    assert tuple(REPORT) != REPORT
