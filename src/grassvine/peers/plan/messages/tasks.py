"""The messages of models of related regressions."""

from grassvine.peers.fit.learning import BAYES, Learning
from grassvine.peers.plan.messages.kind import (
    MessageKind,
    held_out,
    one_number,
    variances,
)
from grassvine.sums.hierarchical.fit import BLOCK_WIDTH, MAX_FULL, N_BLOCKS


def around_tasks(learning: Learning, n_agents: int) -> tuple[list[MessageKind], list[MessageKind]]:
    """Return the messages before and after the fit."""
    m = learning.n_items
    before = [
        MessageKind(
            "means",
            "before",
            m + 2,
            1,
            "the numbers of samples and tasks, and the sum of each feature",
            "the numbers of samples and tasks, and the mean of each feature",
            2,
            wide=True,
        ),
        *variances(m)[: 2 if learning.min_support > 1 else 1],
    ]
    if learning.method.gossips:
        before.append(one_number("spread", "the sum of squared targets, centred within each task"))
    return before, held_out(learning)


def fit_of_tasks(learning: Learning, most: int) -> list[MessageKind]:
    """Return the messages of the fit."""
    if learning.method.name == BAYES:
        return _fit_hierarchical(learning, most)
    m, r = learning.n_items, learning.rank
    return [
        MessageKind(
            "moments",
            "fit",
            m * m + 1,
            1,
            "Σ XᵀX of the standardised features, and the number of tasks",
            "the covariance of the features; with a single sample, that sample",
            2,
        ),
        MessageKind(
            "cost and gradient",
            "fit",
            m * r + r * r + 2,
            most,
            "cost, squared error, gradient and Gram matrix of the tasks' weights",
            "the gradient of the branch, from which weights of a single task can be computed",
            3,
        ),
    ]


def _fit_hierarchical(learning: Learning, most: int) -> list[MessageKind]:
    """Return the messages of empirical Bayes; with many features, it is fitted twice."""
    m = learning.n_items
    few = m <= MAX_FULL
    size, fits = (m + 1, 1) if few else (BLOCK_WIDTH * N_BLOCKS + 1, 2)
    kinds = [
        MessageKind(
            "targets",
            "fit",
            3,
            fits,
            "the numbers of tasks and samples, and the sum of the targets",
            "the number of tasks and the mean of the targets",
            3,
        ),
        MessageKind(
            "spreads",
            "fit",
            m + 1,
            fits,
            "the sum of squares of each standardised feature, and of the targets about their mean",
            "the variances of features and targets",
            2,
        ),
        MessageKind(
            "expectations",
            "fit",
            3 + size + size * (size + 1),
            most,
            "cost, expected errors, and for the tasks' expected coefficients the gradient, the "
            "information on their mean, and their second moments",
            "the covariance of the features; for a branch with a single task its coefficients",
            4,
        ),
    ]
    if few:
        return kinds
    directions = MessageKind(
        "directions",
        "fit",
        m * BLOCK_WIDTH,
        fits * N_BLOCKS,
        "sums of XᵀX times a common block, and before of the Xᵀy of the tasks",
        "the covariance of the features along those columns, and the sum of their Xᵀy",
    )
    contains = "squared errors over variances and number of the samples held out"
    trial = MessageKind("trial", "fit", 2, 1, contains, "how well the model fits them", 2)
    return [*kinds, directions, trial]
