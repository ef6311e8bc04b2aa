"""The kinds of messages of each model and method, before floats are turned into words."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from grassvine.networks import Network
from grassvine.peers.fit.averages import MEAN_STEPS
from grassvine.peers.fit.learning import BAYES, MAP, Learning
from grassvine.peers.fit.methods import LearnByMeetings, LearnBySums, gossip_of
from grassvine.sums.bayes.features import N_FEATURES, N_MORE, N_POWER_ITERATIONS
from grassvine.sums.bayes.selection import SCALES
from grassvine.sums.components import COLUMNS_PER_COMPONENT
from grassvine.sums.hierarchical.fit import BLOCK_WIDTH, MAX_FULL, N_BLOCKS

NUMBER_BYTES = 8
COUNTS_REVEAL = (
    "the exact list of items with ratings and how many ratings each has, the number of users and "
    "the sum of the ratings"
)
EVENT_COUNTS_REVEAL = (
    "the exact list of items with events and how many users each has, and the number of users"
)
EVENT_GRADIENT_REVEALS = (
    "the gradient of the branch; for a member with a single user, which items the user chose"
)
GRADIENT_REVEALS = (
    "the gradient of the branch; for a member with a single user, with the first message, that "
    "user's ratings to rounding error"
)


@dataclass(frozen=True, slots=True)
class MessageKind:
    """A kind of message.

    Attributes
    ----------
    name : str
    stage : {"before", "fit", "gossip", "after"}
    numbers : int
        The largest count of numbers of 64 bits in one message.
    most : int
        How often at most one member sends it up the tree, or to a neighbour that it meets.
    contains : str
    reveals : str
        What the receiver learns of the data of the sender, or of its whole branch of the tree.
    arrays : int
        Of how many arrays a sum consists.
    wide : bool
        Whether the numbers of one array have different units.
    """

    name: str
    stage: str
    numbers: int
    most: int
    contains: str
    reveals: str
    arrays: int = 1
    wide: bool = False

    @property
    def nbytes(self) -> int:
        """The largest size of the numbers in one message, in bytes."""
        return NUMBER_BYTES * self.numbers


def kinds_of_floats(learning: Learning, network: Network) -> list[MessageKind]:
    """Return every kind of message of a run whose sums are of floats."""
    around = {
        "ratings": _around_ratings,
        "events": _around_events,
        "tasks": _around_tasks,
        "pca": _around_components,
    }
    before, after = around[learning.kind](learning, network.n_agents)
    if learning.method.gossips:
        return [*before, *_gossip(learning, network), *after]
    most = LearnBySums(learning).most_sums(network)
    fit = {
        "ratings": _fit_ratings,
        "events": _fit_events,
        "tasks": _fit_tasks,
        "pca": _fit_components,
    }
    return [*before, *fit[learning.kind](learning, most), *after]


def _around_ratings(
    learning: Learning, n_agents: int
) -> tuple[list[MessageKind], list[MessageKind]]:
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
        before.append(_one("spread", "the sum of squared differences from the common mean"))
    return before, _held_out(learning)


def _around_events(
    learning: Learning, n_agents: int
) -> tuple[list[MessageKind], list[MessageKind]]:
    contains = "how many users each item has, and the number of users"
    before = MessageKind(
        "counts", "before", learning.n_items + 1, 1, contains, EVENT_COUNTS_REVEAL, 2
    )
    ranked = "the sum of nDCG@100 of the events held out, and the number of users"
    after = MessageKind("ranking", "after", 2, 1, ranked, "how well the model ranks them")
    return [before], [after] if learning.holdout else []


def _around_tasks(learning: Learning, n_agents: int) -> tuple[list[MessageKind], list[MessageKind]]:
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
        *_variances(m)[: 2 if learning.min_support > 1 else 1],
    ]
    if learning.method.gossips:
        before.append(_one("spread", "the sum of squared targets, centred within each task"))
    return before, _held_out(learning)


def _around_components(
    learning: Learning, n_agents: int
) -> tuple[list[MessageKind], list[MessageKind]]:
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
        before += _variances(m)
    if learning.method.gossips:
        before.append(_one("spread", "the sum of squares of the centred samples"))
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


def _held_out(learning: Learning) -> list[MessageKind]:
    if not learning.holdout:
        return []
    contains = "squared error and number of the values held out"
    return [MessageKind("held-out error", "after", 2, 1, contains, "how well the model fits them")]


def _variances(n_items: int) -> list[MessageKind]:
    return [
        MessageKind(
            "variances",
            "before",
            n_items,
            1,
            "the sum of squared differences of each feature from its common mean",
            "the variance of each feature",
            wide=True,
        ),
        MessageKind(
            "support",
            "before",
            n_items,
            1,
            "the sum of fourth powers of those differences, over the common standard deviation",
            "how many samples determine each feature",
        ),
    ]


def _one(name: str, contains: str) -> MessageKind:
    return MessageKind(name, "before", 1, 1, contains, "that number")


def _fit_ratings(learning: Learning, most: int) -> list[MessageKind]:
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
        return [*kinds, *([_validation(2, most), _comparison()] if auto else [])]
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
        _curvature(most),
    ]
    if auto:
        validated = replace(
            evaluation,
            name="cost, gradient and validation",
            numbers=evaluation.numbers + 1,
            contains=f"{evaluation.contains}, and the error of what validation holds out",
        )
        return [*kinds, validated, _validation(1, 1)]
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
        _validation(2, 1),
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


def _fit_events(learning: Learning, most: int) -> list[MessageKind]:
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


def _fit_tasks(learning: Learning, most: int) -> list[MessageKind]:
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
        _curvature(most),
    ]


def _fit_components(learning: Learning, most: int) -> list[MessageKind]:
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


def _validation(numbers: int, most: int) -> MessageKind:
    contains = "error or number of the ratings that validation holds out"
    how_well = "how well models fit them"
    return MessageKind("validation", "fit", numbers, most, contains, how_well, numbers)


def _comparison() -> MessageKind:
    contains = "how much less factors and biases err on those ratings than biases alone"
    return MessageKind("comparison", "fit", 3, 1, contains, "how well models fit them", 3)


def _curvature(most: int) -> MessageKind:
    contains = "the curvature of the cost along a common direction"
    return MessageKind("curvature", "fit", 1, most, contains, "that number")


def _residuals(most: int) -> MessageKind:
    contains = "the sum of absolute residuals, and the number of ratings"
    return MessageKind("size of residuals", "fit", 2, most, contains, "those two numbers", 2)


def _gossip(learning: Learning, network: Network) -> Iterator[MessageKind]:
    m, r = learning.n_items, learning.rank
    contains = "the member's own current basis"
    if learning.method.own_clock:
        method = LearnByMeetings(learning)
        most = 1 + max(method.updates(network, one) for one in range(network.n_agents))
        contains += ", so many different ones; each may be sent again, or to other neighbours"
    else:
        gossip = gossip_of(learning, network.n_agents)
        most = gossip.timetable(network, np.random.default_rng(0)).n_slots
    yield MessageKind(
        "basis",
        "gossip",
        m * r,
        most,
        contains,
        "by two consecutive messages the member's gradient, and from it, as a rule, which items "
        "occur in its data; for a single user even the ratings",
    )
    yield MessageKind(
        "first basis", "after", m * r, 1, "the basis of the first member", "as every basis"
    )
    yield MessageKind(
        "mean",
        "after",
        m * r,
        MEAN_STEPS,
        "the sum of the directions from the common mean to the members' bases",
        "as every basis",
    )
