"""Small pictures for notebooks."""

import math
from xml.etree import ElementTree

import numpy as np
import pytest

from grassvine.foundations import picture

SVG = "{http://www.w3.org/2000/svg}"


def points_of(drawn: str) -> list[list[float]]:
    (line,) = ElementTree.fromstring(drawn).iter(f"{SVG}polyline")
    return [[float(one) for one in pair.split(",")] for pair in line.attrib["points"].split()]


def test_a_curve_falls_where_its_values_fall() -> None:
    points = points_of(picture.curve([0, 1, 2], [3.0, 2.0, 1.0], of="cost", against="updates"))
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert [y for _, y in points] == sorted(y for _, y in points)  # y grows downwards in SVG
    assert points[1][1] == pytest.approx((points[0][1] + points[2][1]) / 2, abs=0.1)  # rounding


def test_heights_of_several_decades_are_logarithmic() -> None:
    drawn = picture.curve([0, 1, 2], [1000.0, 10.0, 0.1], of="cost", against="updates")
    points = points_of(drawn)
    assert "(log)" in drawn
    assert points[1][1] == pytest.approx((points[0][1] + points[2][1]) / 2, abs=0.1)


def test_a_long_curve_keeps_its_ends_and_few_points() -> None:
    points = points_of(picture.curve(np.arange(10_000), np.arange(10_000), of="", against=""))
    assert len(points) <= 2 * picture.MAX_POINTS
    assert points[0][0] == picture.LEFT and points[-1][0] == picture.WIDTH - picture.RIGHT


def test_unknown_numbers_are_left_out() -> None:
    drawn = picture.curve([0, 1, 2, 3], [math.nan, 2.0, math.inf, 1.0], of="", against="")
    assert len(points_of(drawn)) == 2
    assert picture.curve([0, 1], [math.nan, 1.0], of="", against="") == ""


def test_bars_have_the_heights_of_their_values() -> None:
    drawn = ElementTree.fromstring(picture.bars([4.0, 2.0, 1.0], of="a", each="b"))
    heights = [float(bar.attrib["height"]) for bar in drawn.iter(f"{SVG}rect")]
    assert np.allclose(heights, heights[0] * np.array([1.0, 0.5, 0.25]), atol=0.1)  # rounding
    many = ElementTree.fromstring(picture.bars(np.ones(1000), of="a", each="b"))
    assert len([*many.iter(f"{SVG}rect")]) == picture.MAX_BARS
    assert picture.bars([], of="a", each="b") == "" == picture.bars([0.0], of="a", each="b")


def test_words_are_escaped() -> None:
    drawn = picture.bars([1.0], of="<script>", each='"&')
    assert "<script" not in drawn
    ElementTree.fromstring(drawn)
