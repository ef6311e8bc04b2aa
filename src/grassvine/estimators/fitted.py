"""What every estimator tells of its features and of the run behind its fit."""

import warnings
from typing import Any

import numpy as np

from grassvine.engines.base import TIMETABLE_OVER
from grassvine.foundations.errors import ConvergenceWarning
from grassvine.runs import Run


def set_run_attributes(estimator: Any, run: Run) -> None:
    """Write what came of a run onto an estimator.

    ``subspaces_`` has the basis of each agent and ``subspace_`` their mean; ``agreement_`` is the
    largest angle between two linked agents, in degrees; ``n_iter_`` the most updates of an agent;
    ``incidents_`` what was lost on the way and done again, a sentence each.
    """
    estimator.subspace_ = run.mean
    estimator.subspaces_ = run.bases
    estimator.history_ = run.history
    estimator.agreement_ = run.agreement_degrees
    estimator.plan_ = run.plan
    estimator.network_ = run.plan.network
    estimator.stop_reason_ = run.stop_reason
    estimator.incidents_ = run.incidents
    estimator.n_iter_ = int(run.history.final()["update"].max())
    estimator.messages_ = run.messages
    estimator.bytes_ = run.bytes


def warn_not_converged(run: Run) -> None:
    """Say so where a method that knows when it is done was not done in time."""
    if run.stop_reason == TIMETABLE_OVER:
        warnings.warn(
            f"the fit did not settle in {run.n_slots} slots; what it found may still move. "
            "Standardise the features, choose another rank, or more updates.",
            ConvergenceWarning,
            stacklevel=4,  # who called fit, through the decorator
        )


def feature_names(estimator: Any) -> tuple[str, ...]:
    """Return the names of the features that were given, or x0, x1, …"""
    given = getattr(estimator, "feature_names_in_", None)
    if given is None:
        return tuple(f"x{number}" for number in range(estimator.n_features_in_))
    return tuple(given)


def set_feature_attributes(estimator: Any, features: tuple[str, ...], *, named: bool) -> None:
    """Write onto an estimator which features it knows, and their names if people gave them."""
    estimator.n_features_in_ = len(features)
    if named:
        estimator.feature_names_in_ = np.array(features, dtype=object)
