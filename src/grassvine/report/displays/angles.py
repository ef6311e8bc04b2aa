"""How far each agent's subspace lies from the others'."""

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
    frame,
    learned,
    legend_above,
    open_axes,
    scale_x,
    scale_y,
)
from grassvine.report.figure import COLOURS, marker_look

# The mean is settled to 1e-12 radians; an angle ten times that is still no more than rounding.
ROUNDING = float(np.degrees(10 * SETTLED))


@dataclass(eq=False)
class AnglesDisplay:
    """The principal angles between each agent's subspace and a reference, in degrees.

    Parameters
    ----------
    angles : array of shape (n_agents, rank)
        The angles in degrees, largest first.
    reference : str
        What they are measured from, in words.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        Where the axes lie.
    largest_line_ : matplotlib Line2D
        The largest angle of each agent.
    other_line_ : matplotlib Line2D or None
        All other angles; None where the rank is 1.
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
        """Draw the ``subspaces_`` of a fitted estimator."""
        (bases,) = learned(estimator, "subspaces_")
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
        """Draw the bases of agents, items×rank each; ``style`` goes to the largest angles.

        The reference is a basis too; by default it is the Fréchet mean.
        """
        angles = angles_of(bases, reference)
        if reference is None:
            return cls(angles).plot(ax, **style)
        return cls(angles, "the reference").plot(ax, **style)

    def __post_init__(self) -> None:
        """Check that the angles are a table."""
        self.angles = as_matrix(self.angles, name="angles")

    def plot(self, ax: Any = None, **style: Any) -> "AnglesDisplay":
        """Draw on the given axes, or on those of a new figure."""
        self.ax_ = ax = open_axes(ax)
        self.figure_ = ax.figure
        angles = self.angles
        agents, rank = np.arange(len(angles)), angles.shape[1]
        look = {**marker_look(0, 0), "linestyle": "none", "label": "largest angle", "zorder": 3}
        (self.largest_line_,) = ax.plot(agents, angles[:, 0], **{**look, **style})
        handles = [self.largest_line_]
        self.other_line_ = None
        if rank > 1:
            look = {"linestyle": "none", "marker": "_", "markersize": 9, "color": COLOURS[1]}
            others = (np.repeat(agents, rank - 1), angles[:, 1:].ravel())
            (self.other_line_,) = ax.plot(*others, label=f"the other {rank - 1}", **look)
            handles.append(self.other_line_)
        frame(ax, "agent", f"angle to {self.reference}, degrees")
        scale_x(ax, "slots")
        worst = f"one subspace, up to rounding: no angle exceeds {angles.max():.0e} degrees"
        scale_y(ax, zero=ROUNDING, why_zero=worst)
        legend_above(ax, handles)
        return self


def angles_of(bases: Sequence[ArrayLike], reference: ArrayLike | None = None) -> Array:
    """Return the principal angles in degrees between each basis and a reference or the mean."""
    if not len(bases):
        raise BasisError("there are no bases; give one for each agent.")
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
