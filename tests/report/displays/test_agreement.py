import numpy as np
import pytest
from tests.report.displays.small_runs import EXACT, GOSSIP, axes, texts

from grassvine.foundations.errors import InputError
from grassvine.report.displays import AgreementDisplay


def test_the_distance_is_the_largest_that_agents_saw_at_their_last_meetings() -> None:
    history = GOSSIP.history
    drawn = AgreementDisplay.from_history(history, ax=axes())
    meetings = history.where(history["neighbour"] >= 0)
    for slot, largest, median in zip(
        drawn.largest_line_.get_xdata(),
        drawn.largest_line_.get_ydata(),
        drawn.median_line_.get_ydata(),
        strict=True,
    ):
        so_far = meetings.where(meetings["slot"] <= slot)
        last = [so_far.of_agent(agent)["distance"][-1] for agent in np.unique(so_far["agent"])]
        assert largest == max(last) and median == np.median(last)
    assert drawn.ax_.get_yscale() == "log"


def test_of_sums_it_reports_that_all_hold_one_basis() -> None:
    drawn = AgreementDisplay.from_history(EXACT.history, ax=axes())
    assert not drawn.largest_line_.get_ydata().any() and drawn.ax_.get_yscale() == "linear"
    assert texts(drawn.ax_) == ["always 0: agents that sum along a tree share one basis"]
    both = AgreementDisplay.from_history(GOSSIP.history, ax=axes())
    assert texts(AgreementDisplay.from_history(EXACT.history, ax=both.ax_).ax_) == []


def test_a_history_without_meetings_has_no_agreement() -> None:
    with pytest.raises(InputError, match="no agent met a neighbour"):
        AgreementDisplay.from_history(GOSSIP.history.final())
