"""What an agent tells of each move, and who may listen."""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepReport:
    """One row of the history: an agent's state *before* a move, and the move.

    The cost falls out of the step and ‖Log‖ is the distance, so watching needs no extra message.
    After the last slot each agent reports its final state, with ``step`` 0 and no neighbour (−1).
    An agent whose method knows when it is done says so, and why, in ``finished``: a run ends when
    all have.
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


# An observer may return a sentence: the run stops after the slot, for that reason.
Observer = Callable[[StepReport], str | None]
