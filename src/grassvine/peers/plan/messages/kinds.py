"""Every kind of message of a run between members: how large, how often, and what it reveals."""

from collections.abc import Sequence
from dataclasses import replace

from grassvine.networks import Network
from grassvine.peers.fit.learning import Learning
from grassvine.peers.fit.methods import LearnBySums, sums_after, sums_before
from grassvine.peers.plan.messages.components import around_components, fit_of_components
from grassvine.peers.plan.messages.events import around_events, fit_of_events
from grassvine.peers.plan.messages.gossip import gossip_messages
from grassvine.peers.plan.messages.kind import NUMBER_BYTES, MessageKind
from grassvine.peers.plan.messages.ratings import around_ratings, fit_of_ratings
from grassvine.peers.plan.messages.tasks import around_tasks, fit_of_tasks
from grassvine.sums.decisions import MAX_DECISIONS
from grassvine.sums.fixed_point import FEW, most_rounds
from grassvine.sums.scales import N_LEVELS
from grassvine.sums.summation import PLAIN

# What comes with every part of a sum, and with every total.
CHECKSUM_BYTES = NUMBER_BYTES
DECISION_BYTES = NUMBER_BYTES * (1 + MAX_DECISIONS)
REPEATS = 3  # how often a sum is sent at most, if scales change, on average over a run


def kinds_of(learning: Learning, network: Network, sums: str = PLAIN) -> list[MessageKind]:
    """Return every kind of message that the members send, in the order of the run."""
    kinds = _kinds_of_floats(learning, network)
    return kinds if sums == PLAIN else in_fixed_point(kinds, n_totals(learning, network))


def n_totals(learning: Learning, network: Network) -> int:
    """Return the largest number of totals of a run by sums."""
    around = sums_before(learning) + sums_after(learning)
    return around + LearnBySums(learning).most_sums(network)


def in_fixed_point(kinds: Sequence[MessageKind], n_sums: int) -> list[MessageKind]:
    """Return the kinds with the votes on their scales, and the votes that come before them."""
    sizes = MessageKind(
        "sizes",
        "all",
        (1 + N_LEVELS) * max(kind.arrays for kind in kinds),
        most_rounds(n_sums) - n_sums,
        "votes on how large the largest numbers are",
        "which levels, in steps of a factor of 256, the largest number of each array reaches",
        max(kind.arrays for kind in kinds),
    )
    voted = [
        replace(
            kind,
            numbers=kind.numbers * (1 + (kind.wide or kind.numbers <= FEW)) + 1 + kind.arrays,
            most=REPEATS * kind.most,
        )
        for kind in kinds
    ]
    return [sizes, *voted]


def largest_message(learning: Learning, network: Network, sums: str = PLAIN) -> int:
    """Return the largest number of bytes in the arrays of one message."""
    return max(kind.nbytes for kind in kinds_of(learning, network, sums))


def _kinds_of_floats(learning: Learning, network: Network) -> list[MessageKind]:
    """Return every kind of message of a run whose sums are of floats."""
    around = {
        "ratings": around_ratings,
        "events": around_events,
        "tasks": around_tasks,
        "pca": around_components,
    }
    before, after = around[learning.kind](learning, network.n_agents)
    if learning.method.gossips:
        return [*before, *gossip_messages(learning, network), *after]
    most = LearnBySums(learning).most_sums(network)
    fit = {
        "ratings": fit_of_ratings,
        "events": fit_of_events,
        "tasks": fit_of_tasks,
        "pca": fit_of_components,
    }
    return [*before, *fit[learning.kind](learning, most), *after]
