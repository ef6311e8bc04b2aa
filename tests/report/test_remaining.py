import math

import pytest

from grassvine.report.remaining import RemainingTime, in_words


def test_the_rest_takes_as_long_as_the_share_did() -> None:
    times = iter([10.0, 20.0, 40.0, 50.0])
    remaining = RemainingTime(lambda: next(times))
    assert math.isnan(remaining.update(0.1))
    assert remaining.update(0.3) == pytest.approx(10.0 * 0.7 / 0.2)
    assert remaining.update(0.6) == pytest.approx(30.0 * 0.4 / 0.5)
    assert math.isnan(remaining.update(1.0))


def test_a_share_that_falls_begins_again() -> None:
    times = iter([0.0, 100.0, 101.0, 103.0])
    remaining = RemainingTime(lambda: next(times))
    for share in (0.0, 0.9, 0.0):
        remaining.update(share)
    assert remaining.update(0.5) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "about 1 s left"),
        (89.0, "about 89 s left"),
        (150.0, "about 2 min left"),
        (7200.0, "about 2.0 h left"),
        (math.nan, ""),
    ],
)
def test_times_are_rough_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
