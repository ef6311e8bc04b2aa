"""Display of the angles between the agents' subspaces and a reference."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grassvine.foundations.arrays import Array, as_basis, as_matrix
from grassvine.foundations.errors import BasisError
from grassvine.geometry.grassmann import Grassmann
from grassvine.geometry.mean import SETTLED
from grassvine.report.displays.canvas import (
    fitted_attributes,
    frame,
    legend_above,
    open_axes,
    scale_x,
    scale_y,
)
from grassvine.report.figure import COLOURS, marker_style

# The mean is accurate to 1e-12 radians; angles up to ten times that count as rounding errors.
ROUNDING = float(np.degrees(10 * SETTLED))


@dataclass(eq=False)
class AnglesDisplay:
    """Principal angles between each agent's subspace and a reference, in degrees.

    Parameters
    ----------
    angles : array of shape (n_agents, rank)
        Angles in degrees, largest first.
    reference : str, default="the mean of all agents"
        Name of the reference, for the axis label.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the angles.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    largest_line_ : matplotlib Line2D
        The largest angle of each agent.
    other_line_ : matplotlib Line2D or None
        All other angles; None if the rank is 1.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.report.displays import AnglesDisplay
    >>> plan = gv.Plan(2, 1, gv.networks.path(2), gv.Gossip(max_iter=20))
    >>> result = gv.run(plan, [gv.PCAProblem([[1.0, 0.1], [-1.0, 0.0]])] * 2)
    >>> AnglesDisplay.from_bases(result.bases).angles.shape  # agents, angles
    (2, 1)
    """

    angles: Array
    reference: str = "the mean of all agents"
    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)
    largest_line_: Any = field(init=False, repr=False)
    other_line_: Any = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, reference: ArrayLike | None = None, ax: Any = None, **style: Any
    ) -> "AnglesDisplay":
        """Plot the ``subspaces_`` of a fitted estimator."""
        (bases,) = fitted_attributes(estimator, "subspaces_")
        return cls.from_bases(bases, reference=reference, ax=ax, **style)

    @classmethod
    def from_bases(
        cls,
        bases: Sequence[ArrayLike],
        *,
        reference: ArrayLike | None = None,
        ax: Any = None,
        **style: Any,
    ) -> "AnglesDisplay":
        """Plot the bases of agents, each of shape (n_items, rank), against a reference basis.

        The default reference is the Fréchet mean. ``style`` is passed to the largest angles.
        """
        angles = angles_of(bases, reference)
        if reference is None:
            return cls(angles).plot(ax, **style)
        return cls(angles, "the reference").plot(ax, **style)

    def __post_init__(self) -> None:
        """Check that the angles are a matrix."""
        self.angles = as_matrix(self.angles, name="angles")

    def plot(self, ax: Any = None, **style: Any) -> "AnglesDisplay":
        """Plot on the given axes or on a new figure."""
        self.ax_ = ax = open_axes(ax)
        self.figure_ = ax.figure
        angles = self.angles
        agents, rank = np.arange(len(angles)), angles.shape[1]
        options = {**marker_style(0, 0), "linestyle": "none", "label": "largest angle", "zorder": 3}
        (self.largest_line_,) = ax.plot(agents, angles[:, 0], **{**options, **style})
        handles = [self.largest_line_]
        self.other_line_ = None
        if rank > 1:
            options = {"linestyle": "none", "marker": "_", "markersize": 9, "color": COLOURS[1]}
            others = (np.repeat(agents, rank - 1), angles[:, 1:].ravel())
            (self.other_line_,) = ax.plot(*others, label=f"the other {rank - 1}", **options)
            handles.append(self.other_line_)
        frame(ax, "agent", f"angle to {self.reference} (degrees)")
        scale_x(ax, "slots")
        note = f"one subspace, up to rounding: no angle exceeds {angles.max():.0e} degrees"
        scale_y(ax, zero=ROUNDING, why_zero=note)
        legend_above(ax, handles)
        return self


def angles_of(bases: Sequence[ArrayLike], reference: ArrayLike | None = None) -> Array:
    """Return the principal angles in degrees between each basis and a reference or the mean."""
    if not len(bases):
        raise BasisError("got no bases; pass one per agent.")
    first = as_basis(bases[0], name="the basis of agent 0")
    n_items, rank = first.shape
    points = [
        as_basis(basis, n_items=n_items, rank=rank, name=f"the basis of agent {agent}")
        for agent, basis in enumerate(bases)
    ]
    space = Grassmann()
    centre = (
        space.mean(points)
        if reference is None
        else as_basis(reference, n_items=n_items, rank=rank, name="the reference")
    )
    return np.degrees([space.principal_angles(centre, point) for point in points])
