"""Fitted attributes common to all estimators: features and properties of the run."""

from typing import Any

import numpy as np

from grassvine.runs import Run


def set_run_attributes(estimator: Any, run: Run) -> None:
    """Set the attributes of an estimator that describe its run.

    ``run_`` is the run; ``subspaces_`` has the basis of each agent and ``subspace_`` their mean;
    ``agreement_`` is the largest distance between two neighbours, in degrees; ``n_iter_`` the
    largest number of updates of an agent; ``incidents_`` the failures that were recovered from, one
    sentence each; ``validation_path_`` the candidates that the agents validated, or None;
    ``recovered_`` whether a table without noise is certified to be recovered, or None.
    """
    estimator.run_ = run
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
