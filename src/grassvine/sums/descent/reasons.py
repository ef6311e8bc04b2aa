"""Why a descent ends whose steps do not reduce the cost any further."""

from grassvine.sums.program import Subprogram, decide

NO_STEP = "no step reduces the cost any further"
CONTRADICTION = (
    "no step reduces the cost, although its gradient says so: they do not belong together"
)
# A descent at rounding level expects far less than this fraction of the cost.
CONTRADICTING = 1e-4


def no_step_reason(expected: float, cost: float) -> Subprogram[str]:
    """Return why a descent ends whose smallest steps do not reduce the cost.

    ``expected`` is by how much the gradient and the preconditioner say that the cost can fall.
    """
    contradicting = yield from decide(expected > CONTRADICTING * abs(cost))
    return CONTRADICTION if contradicting else NO_STEP
