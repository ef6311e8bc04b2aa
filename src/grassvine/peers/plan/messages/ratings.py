"""The messages of models of ratings."""

from dataclasses import replace

from grassvine.peers.fit.learning import BAYES, MAP, Learning
from grassvine.peers.plan.messages.kind import (
    MessageKind,
    held_out,
    one_number,
    validation,
)
from grassvine.sums.bayes.features import N_FEATURES, N_MORE, N_POWER_ITERATIONS
from grassvine.sums.bayes.selection import SCALES

COUNTS_REVEAL = (
    "the exact list of items with ratings and how many ratings each has, the number of users and "
    "the sum of the ratings"
)


GRADIENT_REVEALS = (
    "the gradient of the branch; for a member with a single user, with the first message, that "
    "user's ratings to rounding error"
)


def around_ratings(
    learning: Learning, n_agents: int
) -> tuple[list[MessageKind], list[MessageKind]]:
    """Return the messages before and after the fit."""
    m = learning.n_items
    ranges = 0 if learning.scale else 2 * n_agents
    before = [
        MessageKind(
            "counts",
            "before",
            m + 2 + ranges,
            1,
            "how many ratings each item has, the number of users, the sum of the ratings"
            + (", and every member's lowest and highest rating" if ranges else ""),
            COUNTS_REVEAL
            + ("; to all members, the range of each member's ratings" if ranges else ""),
            3,
        )
    ]
    if learning.method.gossips:
        before.append(one_number("spread", "the sum of squared differences from the common mean"))
    return before, held_out(learning)


def fit_of_ratings(learning: Learning, most: int) -> list[MessageKind]:
    """Return the messages of the fit."""
    m, r, choice = learning.n_items, learning.rank, learning.method
    if choice.name == BAYES:
        return _fit_bayes(learning, most)
    auto = choice.regularization == "auto"
    parts = "counts, users and sums as above" + (
        ", without what validation holds out" if auto else ""
    )
    if choice.name == MAP:
        kinds = [
            MessageKind("statistics", "fit", m + 3, 2 if auto else 1, parts, COUNTS_REVEAL, 4),
            MessageKind(
                "cost and gradient",
                "fit",
                m * r + m + r * r + 1,
                most,
                "cost, gradient of factors and item biases, Gram matrix of the users' weights",
                GRADIENT_REVEALS,
                4,
            ),
        ]
        return [*kinds, *([validation(2, most), _comparison()] if auto else [])]
    statistics, arrays = (m + 3, 4) if auto else (m + 2, 3)
    evaluation = MessageKind(
        "cost and gradient",
        "fit",
        m * r + r * r + 2,
        most,
        "cost, squared error, gradient and Gram matrix of the users' weights",
        GRADIENT_REVEALS,
        3,
    )
    kinds = [
        MessageKind(
            "statistics", "fit", statistics, 2 if auto else 1, parts, COUNTS_REVEAL, arrays
        ),
        _residuals(most),
        MessageKind(
            "direction",
            "fit",
            m,
            most,
            "the product of the table of clipped residuals with a common vector",
            "which items have ratings, and a weighted sum of the residuals of each",
        ),
        evaluation,
    ]
    if auto:
        validated = replace(
            evaluation,
            name="cost, gradient and validation",
            numbers=evaluation.numbers + 1,
            contains=f"{evaluation.contains}, and the error of what validation holds out",
        )
        return [*kinds, validated, validation(1, 1)]
    contains = "one block of r(r+1)/2 numbers per item, of sums over its users"
    blocks = MessageKind(
        "preconditioner", "fit", m * r * (r + 1) // 2, most, contains, "the weights of its users"
    )
    return [*kinds, blocks]


def _fit_bayes(learning: Learning, most: int) -> list[MessageKind]:
    """Return the messages of variational Bayes; in a sparse table, it is fitted twice."""
    m, r = learning.n_items, learning.rank
    q = min(N_FEATURES + N_MORE, m)
    together = "the sum over users of products of a common block with the items that they rated"
    which = "which items were rated by the same users; for a single user, which items"
    contains = (
        "gradient of the item factors; gradient of the biases, sum of user precisions and squared "
        "error of each item; second moments of the users; cost, squared error and number of users"
    )
    return [
        MessageKind(
            "statistics", "fit", m + 2, 2, "counts, users and sums as above", COUNTS_REVEAL, 3
        ),
        MessageKind(
            "item sums",
            "fit",
            m + 1,
            2,
            "the sum of the centred ratings of each item, and the sum of all their squares",
            "the mean rating of each item in the branch",
            2,
        ),
        MessageKind("co-rating", "fit", m * q, 2 * N_POWER_ITERATIONS, together, which),
        MessageKind("co-rating features", "fit", m * q + q * q, 2, together, which, 2),
        MessageKind(
            "step", "fit", m * (r + 3) + 4 * (r + 1) ** 2 + 3, most, contains, GRADIENT_REVEALS, 7
        ),
        MessageKind(
            "intervals",
            "fit",
            len(SCALES) + 1,
            1,
            "in a sparse table, how many of the ratings that the fit holds out are in intervals",
            "how well the model fits them",
            2,
        ),
        validation(2, 1),
    ]


def _comparison() -> MessageKind:
    contains = "how much less factors and biases err on those ratings than biases alone"
    return MessageKind("comparison", "fit", 3, 1, contains, "how well models fit them", 3)


def _residuals(most: int) -> MessageKind:
    contains = "the sum of absolute residuals, and the number of ratings"
    return MessageKind("size of residuals", "fit", 2, most, contains, "those two numbers", 2)
