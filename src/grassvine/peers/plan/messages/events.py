"""The messages of models of what users choose."""

from grassvine.peers.fit.learning import Learning
from grassvine.peers.plan.messages.kind import MessageKind

EVENT_COUNTS_REVEAL = (
    "the exact list of items with events and how many users each has, and the number of users"
)


EVENT_GRADIENT_REVEALS = (
    "the gradient of the branch; for a member with a single user, which items the user chose"
)


def around_events(learning: Learning, n_agents: int) -> tuple[list[MessageKind], list[MessageKind]]:
    """Return the messages before and after the fit."""
    contains = "how many users each item has, and the number of users"
    before = MessageKind(
        "counts", "before", learning.n_items + 1, 1, contains, EVENT_COUNTS_REVEAL, 2
    )
    ranked = "the sum of nDCG@100 of the events held out, and the number of users"
    after = MessageKind("ranking", "after", 2, 1, ranked, "how well the model ranks them")
    return [before], [after] if learning.holdout else []


def fit_of_events(learning: Learning, most: int) -> list[MessageKind]:
    """Return the messages of the fit."""
    m, r = learning.n_items, learning.rank
    parts = (
        "users of each item, also without what validation holds out, the number of users, and the "
        "sum of the logarithms of the counts"
    )
    contains = "cost, gradient of factors and popularity, Gram matrix of the users' solutions"
    comparison = "how much better factors rank held-out events than popularity does"
    return [
        MessageKind("statistics", "fit", 2 * m + 2, 1, parts, EVENT_COUNTS_REVEAL, 4),
        MessageKind(
            "cost and gradient",
            "fit",
            m * (r + 1) + (r + 1) ** 2 + 1,
            most,
            contains,
            EVENT_GRADIENT_REVEALS,
            3,
        ),
        MessageKind("comparison", "fit", 3, 1, comparison, "how well models rank them", 3),
    ]
