"""What leaves a member's house in a run, generated from the plan."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.peers.plan.messages.kind import MessageKind
from grassvine.peers.plan.messages.kinds import CHECKSUM_BYTES, DECISION_BYTES, kinds_of, n_totals
from grassvine.peers.plan.secrecy import MASKED
from grassvine.sums.decisions import MAX_DECISIONS
from grassvine.sums.summation import FIXED

TLS = (
    "All messages pass through TLS 1.3 between the members of a link; whoever watches the network "
    "sees who talks to whom, when, and how much."
)
UNMASKED = (
    "Sums are not masked (secrecy = none): a neighbour sees the part that it receives. Join only "
    "if every member may know about the others what is listed here."
)
NOTHING = "nothing: it is uniform noise"
MASKED_SUMS = (
    "Sums are masked: every number that a member sends up the tree is the sum of its branch plus "
    "masks that it has in common with each other member, modulo 2^64. For its neighbour, for "
    "anybody else, and for any group of members but all others together, that is uniform noise."
)
GOSSIP_WARNING = (
    "WARNING: gossip hides nothing from the neighbours. From two consecutive messages a neighbour "
    "computes the gradient of this member alone and, as a rule, which items occur in its data; for "
    "a single user even the ratings. No setting prevents this: choose a method by sums unless that "
    "is what everybody wants."
)
OWN_CLOCK = (
    "Members meet whoever has time: a neighbour also sees when this member is busy, and how many "
    "updates it has made. Every member keeps a list of its meetings, which stays in its house."
)
DECISIONS = (
    "Every part of a sum comes with a checksum of the totals before, and every total with up to "
    f"{MAX_DECISIONS} numbers that the member at the root has decided; both follow from totals."
)
TOTALS = (
    "Every member receives the totals over all members, and N - 1 members who compare theirs learn "
    "the part of the last one."
)
SIZES = (
    "The scale of the integers is agreed on by votes, which are masked too: all members learn how "
    "large the largest number of each array is, up to a factor of 256, but not whose it is."
)
SUPPORT = {
    "ratings": "Items with fewer than {k} ratings of all members together take no part in the fit. "
    "The first total shows which items these are, and how many ratings they have.",
    "tasks": "Features that fewer than {k} samples of all members determine take no part in the "
    "fit. The first totals show which these are, and about their values in those samples.",
}
SUPPORT["pca"] = SUPPORT["tasks"]
SUPPORT["events"] = SUPPORT["ratings"].replace("ratings", "users")
STATISTICS = (
    "Over a whole run every member sees at most {n:,} totals, in most runs fewer than 500 (the "
    "default method for ratings takes about 150 on MovieLens-100K): sums over "
    "all members' users, tasks or samples, at points that all know. They tell about all data what "
    "so many statistics can; if all members together have few users, that may be much about each."
)
MEMBERSHIP = (
    "All totals of a run have the same members: if one is missing the run waits. A run with other "
    "members is another plan, and whoever takes part in both learns the difference of their "
    "totals, which is what the members in only one of them have contributed."
)
CURIOUS = (
    "This protects members who follow the plan from each other's curiosity. Members who lie can "
    "spoil the result. It is not differential privacy: totals and model say something about the "
    "data that they come from."
)
MODEL = {
    "ratings": "At the end all members have the same factors, biases and numbers of ratings of the "
    "items; users, their ratings and their weights stay in their house.",
    "events": "At the end all members have the same factors, popularity and numbers of users of "
    "the items; users and their events stay in their house.",
    "tasks": "At the end all members have the same subspace, means and scales of the features; "
    "tasks, their samples and their weights stay in their house.",
    "pca": "At the end all members have the same mean, components and variances; samples stay in "
    "their house.",
}


@dataclass(frozen=True, slots=True)
class Sent:
    """Messages of one kind that one member sends.

    Attributes
    ----------
    message, stage : str
    nbytes : int
        The largest size of the numbers in one message, with checksum or decisions.
    most : int
        How often at most.
    to : tuple of str
        The members who receive it.
    of : tuple of str
        The members whose data it was computed from.
    contains, reveals : str
    """

    message: str
    stage: str
    nbytes: int
    most: int
    to: tuple[str, ...]
    of: tuple[str, ...]
    contains: str
    reveals: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What each member sends, and sentences about all of it."""

    sent: dict[str, tuple[Sent, ...]]
    sentences: tuple[str, ...]

    def as_object(self) -> dict[str, Any]:
        """Return plain values."""
        sent = {name: [asdict(one) for one in rows] for name, rows in self.sent.items()}
        return {"sent": sent, "sentences": list(self.sentences)}


def explain(plan: GroupPlan, member: str | None = None) -> Explanation:
    """Return what one member sends in a run, or all of them."""
    names = [one.name for one in plan.members]
    chosen = names if member is None else [names[plan.number_of(member)]]
    kinds = kinds_of(plan.learning, plan.network, plan.sums)
    sent = {name: tuple(_sent_by(plan, name, kinds)) for name in chosen}
    return Explanation(sent, tuple(_sentences(plan)))


def _sentences(plan: GroupPlan) -> Iterator[str]:
    learning = plan.learning
    if learning.method.gossips:
        yield GOSSIP_WARNING
    elif plan.secrecy == MASKED:
        statistics = STATISTICS.format(n=n_totals(learning, plan.network))
        yield from (MASKED_SUMS, TOTALS, statistics, MEMBERSHIP)
    else:
        yield from (UNMASKED, TOTALS, MEMBERSHIP)
    if learning.method.own_clock:
        yield OWN_CLOCK
    if plan.sums == FIXED:
        yield SIZES
    if learning.min_support > 1:
        yield SUPPORT[learning.kind].format(k=learning.min_support)
    yield from (DECISIONS, MODEL[learning.kind], TLS, CURIOUS)


def _sent_by(plan: GroupPlan, name: str, kinds: list[MessageKind]) -> list[Sent]:
    """Return the parts that a member sends up the tree, the totals down, and its bases."""
    number, tree = plan.number_of(name), plan.network.tree
    parent = tree.parents[number]
    children = _names(plan, tree.children(number))
    neighbours = _names(plan, plan.network.neighbours(number))
    branch = _names(plan, _branch(plan, number))
    rows = []
    for kind in kinds:
        if kind.stage == "gossip":
            rows.append(_row(kind, 0, neighbours, (name,), kind.contains, kind.reveals))
            continue
        if parent >= 0:
            to = _names(plan, (parent,))
            contains, reveals = kind.contains, kind.reveals
            if plan.secrecy == MASKED:
                contains, reveals = f"under masks: {contains}", NOTHING
            rows.append(_row(kind, CHECKSUM_BYTES, to, branch, contains, reveals))
        if children:
            everyone = tuple(one.name for one in plan.members)
            total = f"the total of: {kind.contains}"
            learns = "the total over all members"
            rows.append(_row(kind, DECISION_BYTES, children, everyone, total, learns))
    return rows


def _row(
    kind: MessageKind,
    more: int,
    to: tuple[str, ...],
    of: tuple[str, ...],
    contains: str,
    reveals: str,
) -> Sent:
    nbytes = kind.nbytes + more
    return Sent(kind.name, kind.stage, nbytes, kind.most, to, of, contains, reveals)


def _branch(plan: GroupPlan, number: int) -> tuple[int, ...]:
    """Return a member and all below it in the tree."""
    found = [number]
    for one in found:  # grows during the loop
        found += plan.network.tree.children(one)
    return tuple(sorted(found))


def _names(plan: GroupPlan, numbers: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(plan.members[number].name for number in numbers)
