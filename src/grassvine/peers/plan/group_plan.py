"""The common plan of a run between members: what all agree on before they connect."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from grassvine.foundations.errors import PlanError
from grassvine.foundations.files import write_whole
from grassvine.foundations.options import one_of, real_number, whole_number
from grassvine.networks import Network
from grassvine.peers.documents import read_text
from grassvine.peers.fit.learning import Learning
from grassvine.peers.fit.methods import method_of
from grassvine.peers.identity.cards import Card
from grassvine.peers.plan import group_plan_file
from grassvine.peers.plan.links import AUTO, Link, as_network, draft_links
from grassvine.peers.plan.messages.kinds import largest_message
from grassvine.peers.plan.secrecy import MASKED, MIN_SUPPORT, NONE, check_masks
from grassvine.runs import Plan
from grassvine.sums.summation import FIXED, PLAIN

MAX_MEMBERS = 1000
MAX_BYTES = 2**26
SAFETENSORS = "safetensors"
MAX_MESSAGE = 2**33
MAX_PATIENCE = 90 * 86400.0
HEADER = 2**16  # allowed to a message beside its numbers
DOMAIN = b"grassvine group plan 1\n"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a run.

    Parameters
    ----------
    message_bytes : int
        The largest message that a member accepts.
    patience : float
        After so many seconds without an absent neighbour a member gives up, unless it was told
        otherwise; it can go on later.
    """

    message_bytes: int
    patience: float = 3600.0

    def __post_init__(self) -> None:
        """Check the values."""
        whole_number("message_bytes", self.message_bytes, least=1, most=MAX_MESSAGE)
        if not 0.0 < real_number("patience", self.patience) <= MAX_PATIENCE:
            raise PlanError(
                f"patience is {self.patience:g} seconds; choose more than 0, and at most 90 days."
            )
        object.__setattr__(self, "patience", float(self.patience))


@dataclass(frozen=True)
class GroupPlan:
    """Everything that the members of a run agree on; a plan contains no data.

    Parameters
    ----------
    members : tuple of Card
        In the order of their names; a member's number is its place.
    learning : Learning
        Model, catalogue and method.
    links : tuple of pairs of str
        The member that dials and the member that listens, for each link.
    limits : Limits
    seed : int
    sums : {"plain", "fixed"}
        How sums are added up.
    secrecy : {"none", "masked"}
        What hides a member's part of a sum from all others; masks need fixed-point sums and three
        members.
    encoding : {"safetensors"}
        How messages are encoded.
    timetable : str
        The digest of the timetable as the member that drafted the plan has drawn it.
    """

    members: tuple[Card, ...]
    learning: Learning
    links: tuple[Link, ...]
    limits: Limits
    seed: int = 0
    sums: str = PLAIN
    secrecy: str = NONE
    encoding: str = SAFETENSORS
    timetable: str = field(default="")

    def __post_init__(self) -> None:
        """Check that everything fits together; nothing large is computed."""
        _check_members(self.members)
        if self.links != tuple(sorted(self.links)):
            raise PlanError("the links are not in order; sort them.")
        whole_number("seed", self.seed, least=0, most=2**63 - 1)
        one_of("sums", self.sums, (PLAIN, FIXED))
        if one_of("secrecy", self.secrecy, (NONE, MASKED)) == MASKED:
            check_masks(self.members, self.learning, self.sums)
        one_of("encoding", self.encoding, (SAFETENSORS,))
        as_network(self.members, self.links)
        if len(self.timetable) != 64 or not set(self.timetable) <= set("0123456789abcdef"):
            raise PlanError(
                "timetable is not a SHA-256 in hexadecimal digits; draft the plan anew."
            )

    @classmethod
    def draft(
        cls,
        cards: Sequence[Card],
        learning: Learning,
        *,
        network: str = AUTO,
        seed: int = 0,
        patience: float = 3600.0,
        message_bytes: int | None = None,
        secrecy: str | None = None,
        min_support: int | None = None,
    ) -> "GroupPlan":
        """Return the plan of the owners of these cards.

        Parameters
        ----------
        secrecy : {"none", "masked"}, optional
            By default sums are masked, and gossip is not. Two members who learn by sums must
            choose ``"none"``.
        min_support : int, optional
            In place of that of ``learning``; by default 5 if sums are masked.
        network : str
            ``"auto"`` or the name of a shape; see :func:`draft_links`.
        message_bytes : int, optional
            By default what the largest message of the method takes.
        """
        members = tuple(sorted(cards, key=lambda card: card.name))
        _check_members(members)
        if secrecy is None:
            secrecy = NONE if learning.method.gossips else MASKED
        if min_support is None and secrecy == MASKED and learning.min_support == 1:
            min_support = MIN_SUPPORT
        if min_support is not None:
            learning = replace(learning, min_support=min_support)
        links = draft_links(members, network, gossips=learning.method.gossips)
        sums = FIXED if secrecy == MASKED else PLAIN
        largest = HEADER + largest_message(learning, as_network(members, links), sums)
        plan = cls(
            members=members,
            learning=learning,
            links=links,
            limits=Limits(largest if message_bytes is None else message_bytes, patience),
            seed=seed,
            sums=sums,
            secrecy=secrecy,
            timetable="0" * 64,
        )
        return replace(plan, timetable=plan.run_plan.timetable.digest())

    @cached_property
    def network(self) -> Network:
        """The network of the members' numbers."""
        return as_network(self.members, self.links)

    @cached_property
    def run_plan(self) -> Plan:
        """The plan of the run, whose agents are the members."""
        learning = self.learning
        return Plan(
            learning.n_items,
            learning.rank,
            self.network,
            method_of(learning),
            seed=self.seed,
            sums=self.sums,
        )

    def require_same_timetable(self) -> None:
        """Raise :class:`PlanError` if this computer draws another timetable."""
        if self.run_plan.timetable.digest() != self.timetable:
            raise PlanError(
                "this computer draws another timetable than the plan has; all members need the "
                "same version of grassvine, and random streams of NumPy that agree."
            )

    def number_of(self, name: str) -> int:
        """Return the number of a member."""
        for number, member in enumerate(self.members):
            if member.name == name:
                return number
        known = ", ".join(member.name for member in self.members)
        raise PlanError(f"{name!r} is no member of the plan; its members are {known}.")

    def dials(self, name: str) -> tuple[str, ...]:
        """Return the members whom a member dials."""
        return tuple(listener for dialler, listener in self.links if dialler == name)

    def dialled_by(self, name: str) -> tuple[str, ...]:
        """Return the members who dial a member."""
        return tuple(dialler for dialler, listener in self.links if listener == name)

    @cached_property
    def digests(self) -> Mapping[str, bytes]:
        """A SHA-256 digest of each entry, by its dotted key, in the order of the keys."""
        entries = _entries(group_plan_file.as_document(self), "")
        return {key: _digest(key, value) for key, value in sorted(entries)}

    @cached_property
    def digest(self) -> bytes:
        """The SHA-256 digest of the plan: the same for everybody who has the same content."""
        whole = hashlib.sha256(DOMAIN)
        for key, digest in self.digests.items():
            whole.update(f"{key}\n".encode() + digest)
        return whole.digest()

    def to_toml(self) -> str:
        """Return the plan as text; equal plans give equal text."""
        return group_plan_file.write(self)

    @classmethod
    def from_toml(cls, text: str) -> "GroupPlan":
        """Read a plan that others wrote; neither dates nor the timetable are checked yet."""
        return cls(**group_plan_file.read(text))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to a file, atomically."""
        write_whole(path, self.to_toml().encode())


def read_plan(path: str | os.PathLike[str]) -> GroupPlan:
    """Read the plan of a run from a file."""
    try:
        return GroupPlan.from_toml(read_text(path, MAX_BYTES, "the plan of a run"))
    except PlanError as error:
        raise (error if str(path) in str(error) else error.within(str(path))) from None


def differing_entry(own: Mapping[str, bytes], other: Mapping[str, bytes]) -> str | None:
    """Return the first entry in which two plans differ, and how many others do; None if none."""
    keys = sorted(key for key in {*own, *other} if own.get(key) != other.get(key))
    if not keys:
        return None
    first = keys[0][:200]
    return first if len(keys) == 1 else f"{first} and {len(keys) - 1} more"


def _check_members(members: Sequence[Card]) -> None:
    names = [member.name for member in members]
    if not 2 <= len(names) <= MAX_MEMBERS:
        raise PlanError(f"the plan has {len(names)} members; it takes 2 to {MAX_MEMBERS} cards.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise PlanError(f"two members are named {twice}; one of them needs another name.")
    if names != sorted(names):
        raise PlanError("the members are not in the order of their names; sort them.")
    addresses = [member.address for member in members if member.listens]
    if len(set(addresses)) < len(addresses):
        raise PlanError("two members listen at the same address; one of the cards is wrong.")
    keys = [member.x25519 for member in members]
    if len(set(keys)) < len(keys) or len({one.fingerprint for one in members}) < len(keys):
        raise PlanError("two members have the same key; each needs an identity of its own.")


def _entries(value: Any, key: str) -> list[tuple[str, Any]]:
    """Return the entries of nested tables; lists are whole, but for the members, by their names."""
    if key == "members":
        return [
            entry for member in value for entry in _entries(member, f"members.{member['name']}")
        ]
    if not isinstance(value, dict):
        return [(key, value)]
    prefix = f"{key}." if key else ""
    return [entry for name, one in value.items() for entry in _entries(one, f"{prefix}{name}")]


def _digest(key: str, value: Any) -> bytes:
    text = json.dumps([key, value], ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(DOMAIN + text.encode()).digest()
