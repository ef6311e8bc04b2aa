"""An observer that prints the progress of a fit, as ``verbose`` does in scikit-learn."""

import math

from grassvine.protocol import StepReport
from grassvine.report.remaining import RemainingTime, in_words

EVERY = 10  # updates between two lines for verbose=1


class VerbosePrinter:
    """Prints a line per ten updates (``verbose=1``) or per update (``verbose=2``), and the last.

    Cost and gradient norm are those of all data if the agents share one cost, as in exact methods;
    otherwise the sum of the agents' last costs and the largest of their gradient norms.
    """

    only_watches = True

    def __init__(self, name: str, verbose: int, *, one_cost: bool):
        self._name, self._one_cost = name, one_cost
        self._every = EVERY if verbose == 1 else 1
        self._costs: dict[int, float] = {}
        self._norms: dict[int, float] = {}
        self._printed, self._ended = 0, False
        self._remaining = RemainingTime()

    def __call__(self, report: StepReport) -> None:
        """Print a line if the agents have made enough updates since the last one."""
        if report.neighbour == -1:  # the final state
            return
        self._costs[report.agent] = report.cost
        self._norms[report.agent] = report.gradient_norm
        left = self._remaining.update(report.share)
        due = report.update >= self._printed + self._every and not math.isnan(report.cost)
        if self._ended or not (due or report.finished):
            return
        self._printed, self._ended = report.update, bool(report.finished)
        cost = report.cost if self._one_cost else sum(self._costs.values())
        norm = report.gradient_norm if self._one_cost else max(self._norms.values())
        words = [f"cost {cost:.6g}", f"gradient norm {norm:.3g}", f"{report.share:.0%} done"]
        words += [in_words(left)] if in_words(left) else []
        print(  # noqa: T201, requested by verbose
            f"[{self._name}] update {report.update}: {', '.join(words)}", flush=True
        )
