"""The messages of principal components."""

from grassvine.peers.fit.learning import Learning
from grassvine.peers.plan.messages.kind import MessageKind, one_number, variances
from grassvine.sums.components.eigenspace import COLUMNS_PER_COMPONENT


def around_components(
    learning: Learning, n_agents: int
) -> tuple[list[MessageKind], list[MessageKind]]:
    """Return the messages before and after the fit."""
    m, r = learning.n_items, learning.rank
    before = [
        MessageKind(
            "means",
            "before",
            m + 1,
            1,
            "the number of samples, and the sum of each feature",
            "the number of samples and the mean of each feature",
            2,
        )
    ]
    if learning.min_support > 1:
        before += variances(m)
    if learning.method.gossips:
        before.append(one_number("spread", "the sum of squares of the centred samples"))
    basis = MessageKind(
        "common basis", "after", m * r, 1, "the basis of the first member", "the subspace itself"
    )
    axes = MessageKind(
        "axes",
        "after",
        r * r + 1,
        1,
        "the Gram matrix of the coordinates in the subspace, and the sum of squares",
        "the covariance along the components",
        2,
    )
    return before, [basis, axes]


def fit_of_components(learning: Learning, most: int) -> list[MessageKind]:
    """Return the messages of the fit."""
    m, r = learning.n_items, learning.rank
    whole = MessageKind(
        "matrix",
        "fit",
        m * (m + 1) // 2,
        1,
        "the lower triangle of XᵀX of the centred samples",
        "the covariance of all features; with a single sample, that sample",
    )
    block = MessageKind(
        "block",
        "fit",
        m * r,
        most,
        "the product of XᵀX with a common block of r columns",
        "the covariance of the features along those columns",
    )
    return [whole] if m + 1 <= 2 * COLUMNS_PER_COMPONENT * (r + 1) else [block]
