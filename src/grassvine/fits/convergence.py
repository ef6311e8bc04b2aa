"""Warnings about runs that did not converge."""

import math
import warnings
from collections.abc import Sequence

import numpy as np

from grassvine.engines.base import TIMETABLE_OVER
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.callers import stack_level
from grassvine.foundations.errors import ConvergenceWarning, Option
from grassvine.gossip import Gossip, GrowingRho
from grassvine.problems import ProblemSource
from grassvine.problems.base import LocalProblem
from grassvine.runs import Run

DISAGREEMENT = 5.0  # degrees between subspaces above which agents disagree
WORSE = 0.02  # relative excess of an RMS error that is clearly worse


def warn_not_converged(run: Run) -> None:
    """Warn if a method with a stopping criterion did not meet it in time."""
    has_stopping_rule = getattr(run.plan.method, "has_stopping_rule", True)
    if has_stopping_rule and run.stop_reason == TIMETABLE_OVER:
        warnings.warn(
            f"the fit did not converge in {run.n_slots} slots; standardise the features, choose "
            "another rank, or allow more updates.",
            ConvergenceWarning,
            stacklevel=stack_level(),
        )


def warn_disagreement(run: Run, problems: Sequence[ProblemSource]) -> None:
    """Warn if a method without a common stopping criterion did not reach consensus.

    That is, if two neighbours differ by more than ``DISAGREEMENT`` degrees; or if the agent
    farthest from the mean of all agents differs from it by as much and fits all data clearly worse.
    The latter is checked only if the data are in this process.
    """
    found = _disagreement(run, problems)
    if found is None:
        return
    method = run.plan.method
    constant = isinstance(method, Gossip) and not isinstance(method.rho, GrowingRho)
    growing = ("use ", Option("method", "gossip"), " with ", Option("rho", "auto"), ", ")
    warnings.warn(
        ConvergenceWarning(
            f"the agents do not agree: {found}; ",
            *(growing if constant else ()),
            "allow more updates, use a network with more links, or choose an exact method.",
        ),
        stacklevel=stack_level(),
    )


def _disagreement(run: Run, problems: Sequence[ProblemSource]) -> str | None:
    if run.agreement_degrees > DISAGREEMENT:
        return f"two neighbours end {run.agreement_degrees:.0f} degrees apart"
    local = [problem for problem in problems if isinstance(problem, LocalProblem)]
    with one_blas_thread():
        distances = [run.plan.geometry.distance(run.mean, basis) for basis in run.bases]
        farthest = int(np.argmax(distances))
        if math.degrees(distances[farthest]) <= DISAGREEMENT or len(local) < len(problems):
            return None
        mean, own = _rms(local, run.mean), _rms(local, run.bases[farthest])
    if own <= (1.0 + WORSE) * mean:
        return None
    return (
        f"on all data, the subspace of agent {farthest} has an RMS error of {own:.3g}, that of the "
        f"mean of all agents {mean:.3g}"
    )


def _rms(problems: Sequence[LocalProblem], basis: Array) -> float:
    squared = sum(problem.evaluate(basis).squared_error for problem in problems)
    n_values = sum(problem.n_values for problem in problems)
    return math.sqrt(max(squared, 0.0) / n_values)  # rounding can make it negative
