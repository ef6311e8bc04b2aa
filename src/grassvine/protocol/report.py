"""Reports of agents on their updates, and the observer type."""

import math
from collections.abc import Callable
from typing import NamedTuple


class StepReport(NamedTuple):
    """One row of the history: an agent's state *before* an update, and the update.

    Cost and distance are by-products of the update, so reports need no extra messages.
    After the last slot each agent reports its final state, with ``step`` 0 and no neighbour (−1).
    Methods with a stopping criterion set ``finished`` to the reason; a run ends when all agents
    have finished. ``share`` is the estimated fraction of the run that is done, and ``held_out`` the
    root mean square error of all agents' held-out values, where a method measures it; they are used
    for displays of progress only; they are not recorded, and equal reports may differ in them.

    Examples
    --------
    >>> import grassvine as gv
    >>> def print_cost(report):  # an observer gets every report
    ...     if report.finished:
    ...         print(f"agent {report.agent} finished")
    >>> plan = gv.Plan(2, 1, gv.networks.path(2))
    >>> problem = gv.PCAProblem([[1.0, 0.1], [-1.0, 0.0]])
    >>> result = gv.run(plan, [problem, problem], observers=[print_cost])
    agent 0 finished
    agent 1 finished
    """

    agent: int
    slot: int
    update: int
    cost: float
    mse: float
    gradient_norm: float
    neighbour: int = -1
    distance: float = math.nan
    step: float = 0.0
    messages: int = 0
    bytes: int = 0
    finished: str = ""
    share: float = math.nan
    held_out: float = math.nan

    def __eq__(self, other: object) -> bool:
        """Return whether two reports are equal but for what is for display only."""
        return isinstance(other, StepReport) and self[:N_RECORDED] == other[:N_RECORDED]

    def __ne__(self, other: object) -> bool:
        """Return whether two reports differ in more than what is for display only."""
        return not self == other

    def __hash__(self) -> int:
        """Return a hash that equal reports share."""
        return hash(self[:N_RECORDED])


N_RECORDED = len(StepReport._fields) - 2  # the fields that are not for display only


# An observer may return a reason to stop; the run then ends after the current slot.
Observer = Callable[[StepReport], str | None]
