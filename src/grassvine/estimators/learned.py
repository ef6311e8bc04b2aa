"""What every estimator tells of the run behind its fit."""

from typing import Any

from grassvine.engines import Run


def keep_run(estimator: Any, run: Run) -> None:
    """Write what came of a run onto an estimator.

    ``subspaces_`` has the basis of each agent and ``subspace_`` their mean; ``agreement_`` is the
    largest angle between two linked agents, in degrees; ``n_iter_`` the most updates of an agent.
    """
    estimator.subspace_ = run.mean
    estimator.subspaces_ = run.bases
    estimator.history_ = run.history
    estimator.agreement_ = run.agreement_degrees
    estimator.network_ = run.plan.network
    estimator.stopped_because_ = run.stopped_because
    estimator.n_iter_ = int(run.history.final()["update"].max())
    estimator.messages_ = run.messages
    estimator.bytes_ = run.bytes
