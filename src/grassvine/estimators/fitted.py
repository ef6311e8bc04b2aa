"""Fitted attributes common to all estimators: features and properties of the run."""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from grassvine.engines.base import TIMETABLE_OVER
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import ConvergenceWarning, Option
from grassvine.gossip import Gossip, GrowingRho
from grassvine.problems import ProblemSource
from grassvine.problems.base import LocalProblem
from grassvine.runs import Run

DISAGREEMENT = 5.0  # degrees between subspaces above which agents disagree
WORSE = 0.02  # relative excess of an RMS error that is clearly worse


def set_run_attributes(estimator: Any, run: Run) -> None:
    """Set the attributes of an estimator that describe its run.

    ``subspaces_`` has the basis of each agent and ``subspace_`` their mean; ``agreement_`` is the
    largest distance between two neighbours, in degrees; ``n_iter_`` the largest number of updates
    of an agent; ``incidents_`` the failures that were recovered from, one sentence each;
    ``validation_path_`` the candidates that the agents validated, or None; ``recovered_`` whether a
    table without noise is certified to be recovered, or None.
    """
    estimator.history_ = run.history
    estimator.n_iter_ = int(run.history.final()["update"].max())
    estimator.messages_ = run.history.n_messages
    estimator.bytes_ = run.history.n_bytes
    estimator.plan_ = run.plan
    estimator.network_ = run.plan.network
    estimator.stop_reason_ = run.stop_reason
    estimator.incidents_ = run.incidents
    estimator.validation_path_ = run.validation_path
    estimator.recovered_ = run.recovered
    estimator.subspaces_ = run.bases
    estimator.subspace_ = run.mean
    estimator.agreement_ = run.agreement_degrees


def warn_not_converged(run: Run) -> None:
    """Warn if a method with a stopping criterion did not meet it in time."""
    has_stopping_rule = getattr(run.plan.method, "has_stopping_rule", True)
    if has_stopping_rule and run.stop_reason == TIMETABLE_OVER:
        warnings.warn(
            f"the fit did not converge in {run.n_slots} slots; standardise the features, choose "
            "another rank, or allow more updates.",
            ConvergenceWarning,
            stacklevel=4,  # the caller of the decorated fit
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
        stacklevel=4,  # the caller of the decorated fit
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


def feature_names(estimator: Any) -> tuple[str, ...]:
    """Return the feature names seen in ``fit``, or x0, x1, …"""
    given = getattr(estimator, "feature_names_in_", None)
    if given is None:
        return tuple(f"x{number}" for number in range(estimator.n_features_in_))
    return tuple(given)


def set_feature_attributes(estimator: Any, features: tuple[str, ...], *, named: bool) -> None:
    """Set the number of features, and their names if ``named``."""
    estimator.n_features_in_ = len(features)
    if named:
        estimator.feature_names_in_ = np.array(features, dtype=object)
