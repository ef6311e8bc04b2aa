"""Who is linked to whom, and who dials: dial-only members are linked to members that listen."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from grassvine.foundations.errors import NetworkError, PlanError
from grassvine.foundations.options import one_of
from grassvine.networks import Network, complete, path, ring, star
from grassvine.peers.identity.cards import Card

Link: TypeAlias = tuple[str, str]  # the member that dials, the member that listens
AUTO = "auto"


def tree(n_agents: int) -> Network:
    """Return a binary tree, in which sums pass few links and no member has more than three."""
    return Network(n_agents, tuple(((child - 1) // 2, child) for child in range(1, n_agents)))


SHAPES: Mapping[str, Callable[[int], Network]] = {
    "tree": tree,
    "ring": ring,
    "star": star,
    "path": path,
    "complete": complete,
}


def draft_links(members: Sequence[Card], shape: str, *, gossips: bool) -> tuple[Link, ...]:
    """Return the links of a network.

    With ``"auto"`` members that listen form a binary tree for sums and a ring for gossip, and each
    dial-only member is linked to one of them, in turn. Any other shape covers all members, those
    that listen first.
    """
    one_of("network", shape, (AUTO, *SHAPES))
    listening = [member.name for member in members if member.listens]
    dialling = [member.name for member in members if not member.listens]
    if not listening:
        raise PlanError(
            "no member listens, so nobody can connect to anybody; one member needs an address "
            "('grassvine peer init --listen host:port')."
        )
    names, leaves = [*listening, *dialling], []
    if shape == AUTO:
        shape, names = "ring" if gossips else "tree", listening
        leaves = [
            (name, listening[number % len(listening)]) for number, name in enumerate(dialling)
        ]
    pairs = [(names[one], names[other]) for one, other in SHAPES[shape](len(names)).edges]
    blind = next((pair for pair in pairs if set(pair) <= set(dialling)), None)
    if blind is not None:
        raise PlanError(
            f"the network {shape!r} links {blind[0]} with {blind[1]}, and neither listens; choose "
            "the network 'auto', or let one of them listen."
        )
    directed = [
        (one, other) if other in listening and (one in dialling or one > other) else (other, one)
        for one, other in pairs
    ]
    return tuple(sorted([*directed, *leaves]))


def as_network(members: Sequence[Card], links: Sequence[Link]) -> Network:
    """Return the network of links between members, or raise :class:`PlanError`."""
    numbers = {member.name: number for number, member in enumerate(members)}
    seen: set[frozenset[str]] = set()
    for dialler, listener in links:
        for name in (dialler, listener):
            if name not in numbers:
                raise PlanError(f"a link names {name!r}, who is no member; correct links.")
        if dialler == listener:
            raise PlanError(f"{dialler} is linked to itself; remove that link.")
        if not members[numbers[listener]].listens:
            raise PlanError(
                f"{dialler} would dial {listener}, which does not listen; turn the link round, or "
                "choose another network."
            )
        if frozenset((dialler, listener)) in seen:
            raise PlanError(f"{dialler} and {listener} are linked twice; list each link once.")
        seen.add(frozenset((dialler, listener)))
    try:
        return Network(len(members), tuple((numbers[one], numbers[other]) for one, other in links))
    except NetworkError:
        raise PlanError(
            "the links do not connect all members; add links, or draft the plan anew."
        ) from None
