import io
import itertools
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import matplotlib as mpl
import matplotlib.colors as colours
import matplotlib.image as images
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import InputError, MissingExtra
from grassvine.report import figure, scaling
from grassvine.report.chart import BarGroup, BarPanel, Curve, Level, Panel
from grassvine.report.figure import Drawing, draw

X = np.arange(50.0)
FALLING = Curve("falling", X, np.exp(-X))


def panel(*curves: Curve, **options: object) -> Panel:
    return Panel("title", "x", "y", curves, **options)  # type: ignore[arg-type]


def bars(*heights: Array, errors: Array | None = None) -> BarPanel:
    groups = tuple(BarGroup(f"group {i}", height, errors) for i, height in enumerate(heights))
    return BarPanel("title", "agent", "error", ("a", "b", "c"), groups, (Level("pooled", 0.5),))


def texts(drawing: Drawing) -> list[str]:
    root = ElementTree.fromstring(drawing.svg)
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


def pixels(drawing: Drawing) -> Array:
    return np.asarray(images.imread(io.BytesIO(drawing.png))[..., :3], dtype=float)


SCRIPT = """
import hashlib, numpy as np
from grassvine.report.chart import *
from grassvine.report.figure import draw
x = np.arange(50.0)
groups = (BarGroup("a", np.ones(2), np.ones(2)), BarGroup("b", np.ones(2)))
drawing = draw([Panel("t", "x", "y", (Curve("c", x, np.exp(-x)),), (Level("l", 1e-9),)),
                BarPanel("t", "x", "y", ("p", "q"), groups)])
print(hashlib.sha256(drawing.png + drawing.svg).hexdigest())
"""


def test_the_same_data_gives_the_same_bytes_in_another_process_too() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "SOURCE_DATE_EPOCH": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2000000000")
    ]
    assert runs[0] == runs[1] and len(runs[0]) > 60


def test_neither_settings_nor_the_clock_leave_a_trace() -> None:
    usual = draw([panel(FALLING)])
    before = dict(mpl.rcParams)
    with mpl.rc_context({"font.size": 20, "svg.hashsalt": "other", "axes.facecolor": "red"}):
        assert draw([panel(FALLING)]) == usual
    assert dict(mpl.rcParams) == before
    assert b"dc:date" not in usual.svg and b"tEXt" not in usual.png and b"tIME" not in usual.png


@pytest.mark.parametrize("log_y", [True, False])
def test_values_that_cannot_be_drawn_are_gaps(log_y: bool) -> None:
    holes = np.exp(-X)
    holes[[3, 10, 11, 30]] = np.nan, np.inf, -np.inf, 0 if log_y else np.nan
    axis = np.where(X == 20, np.nan, X)
    drawn = draw([panel(Curve("holes", axis, holes), log_y=log_y)])
    holes[[10, 11, 20, 30]] = np.nan
    assert drawn == draw([panel(Curve("holes", X, holes), log_y=log_y)])
    assert "no data" not in texts(drawn)


def test_a_point_between_gaps_is_seen() -> None:
    y = np.full(401, np.nan)
    y[:200] = 1
    bare = draw([panel(Curve("c", np.arange(401.0), y), Curve("d", np.zeros(1), np.ones(1)))])
    y[398] = 1
    with_point = draw([panel(Curve("c", np.arange(401.0), y), Curve("d", np.zeros(1), np.ones(1)))])
    assert bare != with_point


@pytest.mark.parametrize(
    "empty",
    [
        panel(),
        panel(Curve("nothing", X[:0], X[:0])),
        panel(Curve("below", X, -X), levels=(Level("zero", 0.0),)),
        BarPanel("title", "x", "y", (), ()),
        BarPanel("title", "x", "y", ("a",), (BarGroup("g", np.array([np.nan])),)),
    ],
)
def test_a_panel_without_data_reports_it(empty: Panel | BarPanel) -> None:
    assert "no data" in texts(draw([empty]))


def test_levels_alone_are_data() -> None:
    assert "no data" not in texts(draw([panel(levels=(Level("batch", 1e-3),))]))


@given(
    hnp.arrays(
        np.float64,
        st.integers(1, 3000),
        elements=st.floats(-1e6, 1e6) | st.just(np.nan),
        fill=st.sampled_from([0.0, 1.0, np.nan]),
    )
)
def test_thinning_keeps_ends_extremes_and_gaps(y: Array) -> None:
    kept = scaling.thin(y)
    finite = np.flatnonzero(np.isfinite(y))
    assert (np.diff(kept) > 0).all() and len(kept) <= 3 * scaling.MAX_POINTS // 2 + 4
    assert {0, len(y) - 1} <= set(kept)
    assert np.isnan(y[kept]).any() == np.isnan(y).any()
    if len(finite):
        assert {finite[0], finite[-1]} <= set(kept)
        assert y[kept][np.isfinite(y[kept])].min() == np.nanmin(y)
        assert y[kept][np.isfinite(y[kept])].max() == np.nanmax(y)


def test_short_curves_are_not_thinned() -> None:
    assert (scaling.thin(np.ones(scaling.MAX_POINTS)) == np.arange(scaling.MAX_POINTS)).all()


@pytest.mark.parametrize("n_points", [1_000, 100_000])
def test_files_stay_small(n_points: int) -> None:
    noise = np.random.default_rng(0).standard_normal((8, n_points))
    curves = [
        Curve(f"c{i}", np.arange(0.0, n_points), np.exp(y), i % 4, i) for i, y in enumerate(noise)
    ]
    assert len(draw([panel(*curves)]).svg) < 300_000


@pytest.mark.parametrize(
    "values", [(1e-13, 10.0), (1.0, 1.0), (3.1, 3.2), (0.5, 60.0), (5e-324, 1e307)]
)
def test_a_log_axis_has_ticks_inside_its_limits(values: tuple[float, float]) -> None:
    (low, high), ticks, labels, minor = scaling.log_axis(np.array(values))
    assert low <= max(values[0], 1e-307) and values[1] <= high
    assert 1 <= len(ticks) == len(labels) <= 9
    for places in (ticks, minor):
        assert ((low <= places) & (places <= high)).all()
    draw([panel(Curve("c", np.arange(2.0), np.array(values)))])


@given(st.floats(-12, 12), st.floats(0, 20))
def test_a_log_axis_names_two_places_or_more(low: float, span: float) -> None:
    _, ticks, labels, _ = scaling.log_axis(10.0 ** np.array([low, low + span]))
    assert 2 <= len(ticks) <= 9 and len(set(labels)) == len(labels)


def test_powers_of_ten_are_words_in_the_svg() -> None:
    assert {"10⁰", "10⁻¹²"} <= set(texts(draw([panel(Curve("c", X, 10.0 ** -(X / 3)))])))


def test_both_axes_may_be_by_decades_and_what_has_no_place_on_them_is_a_gap() -> None:
    x, y = 10.0 ** (X / 10), 10.0**-X
    drawn = draw([panel(Curve("c", x, y), log_x=True)])
    assert {"10⁴", "10⁻⁴²"} <= set(texts(drawn))
    assert drawn != draw([panel(Curve("c", x, y))])
    nowhere = np.concatenate([[0.0, -1.0, np.nan], x])
    filled = np.concatenate([[1e9, 1e9, 1e9], y])
    assert texts(draw([panel(Curve("c", nowhere, filled), log_x=True)])) == texts(drawn)
    assert "no data" in texts(draw([panel(Curve("c", -x, y), log_x=True)]))


def test_a_level_without_curves_needs_no_place_along_a_log_axis() -> None:
    draw([panel(levels=(Level("batch", 1e-3),), log_x=True)])


LITERAL = ("_hidden", "$x^2$", "costs $5", "100%", r"\frac{1}{2}", "<b>&amp;", "two\nlines\x00", "")


def test_labels_are_shown_literally() -> None:
    curves = tuple(Curve(label, X, np.exp(-X), i) for i, label in enumerate(LITERAL))
    shown = " ".join(texts(draw([Panel("_t$t$", "_x$x$", "_y$y$", curves)])))
    group = BarGroup("_g$g$", np.ones(1))
    shown += " ".join(texts(draw([BarPanel("b", "x", "y", ("_c$c$",), (group,))])))
    wanted = [*LITERAL[:6], "two lines�", "_t$t$", "_x$x$", "_y$y$", "_g$g$", "_c$c$"]
    assert [label for label in wanted if label not in shown] == []


def test_a_legend_is_shared_when_it_is_the_same_and_long_labels_are_wrapped() -> None:
    other = Curve("other " * 30, X, X + 1, 1, 1)
    assert texts(draw([panel(FALLING), panel(FALLING)])).count("falling") == 1
    apart = texts(draw([panel(FALLING), panel(FALLING, other), panel(), bars(np.ones(3))]))
    assert apart.count("falling") == 2 and max(map(len, apart)) < 60


def test_nothing_touches_the_edge_of_the_picture() -> None:
    words = "a rather long label of something " * 3
    curves = tuple(Curve(f"{words}{i}", X * 1e5, np.exp(-X), i, i) for i in range(7))
    names = tuple(f"an agent of long name {i}" for i in range(8))
    groups = tuple(BarGroup(f"{words}{i}", np.arange(8.0)) for i in range(3))
    picture = pixels(
        draw([Panel(words, words, words, curves), BarPanel(words, words, words, names, groups)])
    )
    edges = (picture[0], picture[-1], picture[:, 0], picture[:, -1])
    assert all((edge == 1).all() for edge in edges)


def test_styles_differ_in_grey() -> None:
    greys = [np.dot(colours.to_rgb(colour), (0.299, 0.587, 0.114)) for colour in figure.COLOURS[:4]]
    assert all(abs(one - other) >= 0.1 for one, other in itertools.combinations(greys, 2))
    for looks in (figure.COLOURS, figure.DASHES, figure.HATCHES, figure.MARKERS):
        assert len(set(looks)) == len(looks)


def test_bars_start_at_zero() -> None:
    shown = texts(draw([bars(np.array([100.0, 101, 102]), np.array([103.0, np.nan, np.inf]))]))
    assert {"0", "100", "a", "b", "c", "pooled"} <= set(shown)


@pytest.mark.parametrize("errors", [None, np.array([0.1, np.nan, 0.0])])
@pytest.mark.parametrize("heights", [np.zeros(3), -np.ones(3), np.array([1.0, np.nan, -1e-9])])
def test_bars_of_any_sign_are_drawn(heights: Array, errors: Array | None) -> None:
    assert draw([bars(heights, errors=errors)]).png


def test_any_number_of_panels_and_looks_is_drawn() -> None:
    curves = [Curve(str(i), X, np.exp(-X / i), i, i) for i in range(1, 12)]
    pictures = [pixels(draw([panel(*curves)] * n)) for n in (1, 2, 3)]
    assert pictures[0].shape[1] < pictures[1].shape[1] == pictures[2].shape[1]
    assert pictures[1].shape[0] < pictures[2].shape[0]


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(InputError, match="at least one"):
        draw([])
    with pytest.raises(InputError, match="two vectors of the same length"):
        Curve("c", X, X[1:])
    with pytest.raises(InputError, match="3 categories"):
        bars(np.ones(2))
    with pytest.raises(InputError, match="negative error"):
        bars(np.ones(3), errors=-np.ones(3))


def test_without_matplotlib_the_command_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(MissingExtra, match=r"grassvine\[plots\]"):
        draw([panel(FALLING)])
