from typing import Any

import numpy as np
import pytest
from tests.report.displays.small_runs import EXACT, GOSSIP, N_AGENTS, axes, run, texts

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import InputError
from grassvine.report.displays import ConvergenceDisplay
from grassvine.report.displays.traces import CostTrace, DistanceTrace


def trace(**columns: Any) -> CostTrace:
    x = np.arange(4.0)
    given = {"cost": x + 1, "gradient": x + 1, "median_gradient": x, **columns}
    return CostTrace(x, **given, n_agents=3, of_sums=False)


@pytest.mark.parametrize("x", ["slots", "bytes"])
def test_the_cost_of_gossip_is_the_sum_of_what_each_agent_costs_where_it_stands(x: str) -> None:
    history = GOSSIP.history
    drawn = ConvergenceDisplay.from_history(history, x=x, ax=axes())
    slots = np.unique(history["slot"])
    wanted = []
    for slot in slots:  # an agent rests until its next move
        later = [history.of_agent(agent).where(_from(history, agent, slot)) for agent in range(4)]
        sent = history["bytes"][history["slot"] < slot].sum()
        wanted.append(
            (
                slot if x == "slots" else sent,
                sum(rows["cost"][0] for rows in later),
                max(rows["gradient_norm"][0] for rows in later),
            )
        )
    shown = (drawn.cost_line_.get_xdata(), drawn.cost_line_.get_ydata())
    # Four numbers added in another order.
    np.testing.assert_allclose([*shown, drawn.gradient_line_.get_ydata()], np.transpose(wanted))
    assert drawn.cost_line_.get_ydata()[-1] == pytest.approx(history.final()["cost"].sum())
    low = drawn.gradient_ax_.get_ylim()[0]
    median = drawn.median_line_.get_ydata()
    assert low < median.min() and (median <= drawn.gradient_line_.get_ydata()).all()
    assert drawn.band_.get_datalim(drawn.gradient_ax_.transData).y0 == pytest.approx(median.min())
    assert "sum over 4 agents" in drawn.cost_line_.get_label()


def _from(history: gv.History, agent: int, slot: int) -> Any:
    return history.of_agent(agent)["slot"] >= slot


def test_updates_are_counted_by_agent() -> None:
    history = GOSSIP.history
    drawn = ConvergenceDisplay.from_history(history, x="updates", ax=axes())
    line = drawn.cost_line_
    most = history["update"].max()
    assert line.get_xdata().tolist() == list(range(most + 1))
    first = history.where(history["update"] == 0)["cost"]
    assert len(first) == N_AGENTS and line.get_ydata()[0] == pytest.approx(first.sum())
    assert drawn.ax_.get_xlabel() == "updates per agent"


@pytest.mark.parametrize("x", ["slots", "updates", "bytes"])
def test_the_cost_of_sums_is_that_of_all_and_not_added_up_again(x: str) -> None:
    history = EXACT.history
    drawn = ConvergenceDisplay.from_history(history, x=x, ax=axes())
    places, costs = drawn.cost_line_.get_xdata(), drawn.cost_line_.get_ydata()
    # The last cost is that of the common basis; the agents' own parts add up to it.
    assert costs[-1] == pytest.approx(history.final()["cost"].sum(), rel=1e-12)
    for update, place in enumerate(places):  # as soon as the first agent has the sum
        ended = history["slot"][history["update"] == update].min() + 1
        sent = history["bytes"][history["slot"] < ended].sum()
        assert place == {"slots": ended, "updates": update, "bytes": sent}[x]
    assert len(places) == history["update"].max() + 1
    assert drawn.cost_line_.get_label().startswith("cost on all data")
    assert drawn.gradient_line_.get_label() == "gradient norm on all data" and drawn.band_ is None


def test_what_is_not_known_is_a_gap() -> None:
    drawn = ConvergenceDisplay(trace(cost=np.array([np.nan, 3.0, np.nan, 1.0]))).plot(axes())
    assert np.isnan(drawn.cost_line_.get_ydata()).tolist() == [True, False, True, False]
    left, right = drawn.ax_.get_xlim()
    assert left <= 0 and right >= 3  # the gap at the start is seen as one


@pytest.mark.parametrize(
    ("cost", "scale"),
    [
        (np.array([1.0, 0.1, 0.0, 1e-9]), "log"),
        (np.array([1.0, 0.1, -0.1, 0.2]), "linear"),
        (np.zeros(4), "linear"),
    ],
)
def test_the_scale_is_logarithmic_where_it_can_be(cost: Array, scale: str) -> None:
    drawn = ConvergenceDisplay(trace(cost=cost)).plot(axes())
    assert drawn.ax_.get_yscale() == scale and drawn.gradient_ax_.get_yscale() == "log"


def test_a_trace_without_numbers_reports_it() -> None:
    drawn = ConvergenceDisplay(trace(cost=np.full(4, np.nan))).plot(axes())
    assert texts(drawn.ax_) == ["no data"]


def test_two_runs_may_share_axes() -> None:
    ax = axes()
    for result in (GOSSIP, EXACT):
        ConvergenceDisplay.from_history(result.history, ax=ax)
    low, high = ax.get_ylim()
    seen = np.concatenate([line.get_ydata() for line in ax.get_lines()])
    assert len(ax.get_lines()) == 2 and low < np.nanmin(seen) and np.nanmax(seen) < high


def test_one_agent_is_drawn_without_a_band() -> None:
    drawn = ConvergenceDisplay.from_history(run(gv.Exact(), 1).history, ax=axes())
    assert drawn.band_ is None and "all data" in drawn.cost_line_.get_label()


def test_traces_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(InputError, match="vectors of the same length"):
        trace(cost=np.ones(3))
    with pytest.raises(InputError, match="vectors of the same length"):
        DistanceTrace(np.ones(2), np.ones(2), np.ones(3), of_sums=False)
    with pytest.raises(InputError, match="unknown x"):
        DistanceTrace(np.ones(2), np.ones(2), np.ones(2), of_sums=False, against="time")
