import numpy as np
import pytest
from tests.report.displays.small_runs import EXACT, axes, texts

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import BasisError
from grassvine.report.displays import AnglesDisplay


def turned(angles: Array) -> Array:
    """A basis at given angles to the first columns of the identity."""
    first, second = np.eye(8)[:, : len(angles)], np.eye(8)[:, 4 : 4 + len(angles)]
    return first * np.cos(angles) + second * np.sin(angles)


def test_angles_to_a_reference_are_shown_in_degrees() -> None:
    wanted = np.array([[30.0, 1.0, 1e-6], [90.0, 45.0, 2.0]])
    bases = [turned(np.radians(row)) for row in wanted]
    drawn = AnglesDisplay.from_bases(bases, reference=np.eye(8)[:, :3], ax=axes())
    # Angles are right to some 1e-15 radians.
    np.testing.assert_allclose(drawn.largest_line_.get_ydata(), wanted[:, 0], atol=1e-13)
    np.testing.assert_allclose(drawn.other_line_.get_ydata(), wanted[:, 1:].ravel(), atol=1e-13)
    assert drawn.other_line_.get_xdata().tolist() == [0, 0, 1, 1]
    assert drawn.ax_.get_ylabel() == "angle to the reference (degrees)"
    assert drawn.ax_.get_yscale() == "log"


def test_the_mean_lies_in_the_middle_of_two() -> None:
    bases = [turned(np.array([angle])) for angle in (0.0, 0.2)]
    drawn = AnglesDisplay.from_bases(bases, ax=axes())
    # The mean is settled to 1e-12 radians.
    np.testing.assert_allclose(drawn.angles, np.degrees([[0.1], [0.1]]), atol=1e-10)
    assert drawn.other_line_ is None and "the mean of all agents" in drawn.ax_.get_ylabel()


def test_agents_that_hold_one_subspace_are_reported_as_such() -> None:
    drawn = AnglesDisplay.from_bases(EXACT.bases, ax=axes())
    assert drawn.ax_.get_yscale() == "linear"
    assert "one subspace, up to rounding" in texts(drawn.ax_)[0]


def test_bases_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(BasisError, match="got no bases"):
        AnglesDisplay.from_bases([])
    with pytest.raises(BasisError, match="basis of agent 1 has shape 8×1, not 8×2"):
        AnglesDisplay.from_bases([np.eye(8)[:, :2], np.eye(8)[:, :1]])
    with pytest.raises(BasisError, match="the reference has shape"):
        AnglesDisplay.from_bases([np.eye(8)[:, :2]], reference=np.eye(8))
    with pytest.raises(BasisError, match="angles has shape"):
        AnglesDisplay(np.ones(3))
