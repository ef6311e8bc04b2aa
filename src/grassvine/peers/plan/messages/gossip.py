"""The messages of gossip, and of the mean of all bases after it."""

from collections.abc import Iterator

import numpy as np

from grassvine.networks import Network
from grassvine.peers.fit.averages import MEAN_STEPS
from grassvine.peers.fit.learning import Learning
from grassvine.peers.fit.methods import LearnByMeetings, gossip_of
from grassvine.peers.plan.messages.kind import (
    MessageKind,
)


def gossip_messages(learning: Learning, network: Network) -> Iterator[MessageKind]:
    """Yield the messages between neighbours, and those of the common mean."""
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
