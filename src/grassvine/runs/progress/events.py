"""The events of a run, and their form: one JSON object per line.

Nothing in a line is trusted before it was checked: a run folder may come from somebody else.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from grassvine.foundations.documents import parse_json

FORMAT = "grassvine progress 1"
MAX_AGENTS = 1000  # with more, events say nothing about single agents and links
MAX_LINKS = 10_000
MAX_TEXT = 500
WORKING, WAITING, FINISHED, ABSENT, UNKNOWN = "wifau"  # what an agent does, one letter each
NONE = math.nan


@dataclass(frozen=True, slots=True)
class Begin:
    """The beginning of a run, or of the next run of one fit; times are seconds since 1970.

    Attributes
    ----------
    run : str
        A random identifier, the same for all runs of one fit.
    time, started : float
        When this run began, and the first run of the fit.
    pid, host : int, str
        The process that writes, and its computer.
    method : str
    n_agents, n_slots : int
    one_cost : bool
        Whether costs are those of all agents, as in methods by sums.
    names : tuple of str
        The names of the agents; empty if they have numbers only.
    own : int
        The agent whose view this is; −1 if the writer sees all of them.
    links : tuple of pairs
        The links between agents; empty if there are too many.
    """

    run: str
    time: float
    started: float
    pid: int
    host: str
    method: str
    n_agents: int
    n_slots: int
    one_cost: bool
    names: tuple[str, ...] = ()
    own: int = -1
    links: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the curves; numbers that are not known are NaN.

    Attributes
    ----------
    time : float
    slot : int
    share : float
        The estimated share of the run that is done.
    update : int
        Sums, or updates per agent.
    cost : float
    rmse : float
        The root of the mean over agents of the mean squared errors on their own data.
    held_out : float
        The root mean square error of the values that are held out in the fit.
    bytes, messages : int
        What all agents have sent, or in the view of one agent what it has sent and received.
    largest, median : float
        The distances between agents and the neighbours they last met, in degrees.
    """

    time: float
    slot: int
    share: float = NONE
    update: int = 0
    cost: float = NONE
    rmse: float = NONE
    held_out: float = NONE
    bytes: int = 0
    messages: int = 0
    largest: float = NONE
    median: float = NONE


@dataclass(frozen=True, slots=True)
class Members:
    """What the agents do; the lists are empty if there are more than ``MAX_AGENTS``.

    Attributes
    ----------
    time : float
    slot : int
    states : str
        One letter per agent.
    waits : tuple of pairs
        Who waits for whom.
    updates, costs : tuples
        The updates of each agent and its last cost.
    link_bytes : tuple of int
        The bytes in both directions of each link.
    """

    time: float
    slot: int
    states: str = ""
    waits: tuple[tuple[int, int], ...] = ()
    updates: tuple[int, ...] = ()
    costs: tuple[float, ...] = ()
    link_bytes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that went wrong and did not end the run."""

    time: float
    slot: int
    text: str


@dataclass(frozen=True, slots=True)
class End:
    """The end: ``state`` is ``"finished"``, ``"failed"`` or ``"stopped"``."""

    time: float
    state: str
    reason: str
    report: Mapping[str, Any] = field(default_factory=dict)


Event: TypeAlias = Begin | Point | Members | Incident | End
ENDED = ("finished", "failed", "stopped")
KINDS: Mapping[str, type[Event]] = {
    "begin": Begin,
    "point": Point,
    "members": Members,
    "incident": Incident,
    "end": End,
}
_NAMES = {kind: name for name, kind in KINDS.items()}
_FIELDS = {kind: tuple(one.name for one in fields(kind)) for kind in KINDS.values()}
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def encode(event: Event) -> bytes:
    """Return an event as a line; numbers that are not finite become null."""
    kind = type(event)
    line: dict[str, Any] = {"event": _NAMES[kind]}
    if kind is Begin:
        line["format"] = FORMAT
    for name in _FIELDS[kind]:
        line[name] = _plain(getattr(event, name))
    return _ENCODER.encode(line).encode() + b"\n"


def decode(line: bytes) -> Event:
    """Return the event in a line; anything else is a ValueError."""
    document = parse_json(line)
    if not isinstance(document, dict) or document.get("event") not in KINDS:
        raise ValueError("it is not an event")
    kind = KINDS[document.pop("event")]
    if kind is Begin and document.pop("format", None) != FORMAT:
        raise ValueError(f"it is not in the format '{FORMAT}'")
    if set(document) != set(_FIELDS[kind]):
        raise ValueError("the event has other entries")
    event = kind(**{name: _READ[name](value) for name, value in document.items()})
    if isinstance(event, Begin):
        _check_begin(event)
    if isinstance(event, End) and event.state not in ENDED:
        raise ValueError("the state of the end is unknown")
    return event


def fits(members: Members, begin: Begin) -> bool:
    """Return whether an event about agents belongs to the agents of a run."""
    n_agents, n_links = begin.n_agents, len(begin.links)
    lengths = {len(members.states), len(members.updates), len(members.costs)}
    pairs = all(0 <= agent < n_agents for pair in members.waits for agent in pair)
    return pairs and lengths <= {0, n_agents} and len(members.link_bytes) in (0, n_links)


def shortened(text: str) -> str:
    """Return text that fits an event."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _check_begin(begin: Begin) -> None:
    if begin.n_agents < 1 or not -1 <= begin.own < begin.n_agents:
        raise ValueError("the number of agents is wrong")
    if len(begin.names) not in (0, begin.n_agents) or len(begin.links) > MAX_LINKS:
        raise ValueError("there are too many links, or not as many names as agents")
    if not all(0 <= one < other < begin.n_agents for one, other in begin.links):
        raise ValueError("a link is not between two agents")


def _plain(value: Any) -> Any:
    if type(value) is int:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return value if value is None or isinstance(value, str | int) else str(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise ValueError("a text is missing or too long")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or not -1 <= value < 2**62:
        raise ValueError("a number is not a whole one")
    return value


def _number(value: Any) -> float:
    if value is None:
        return NONE
    if type(value) not in (int, float) or not abs(value) < 1e300:
        raise ValueError("a number is missing")
    return float(value)


def _known(value: Any) -> float:
    if math.isnan(number := _number(value)):
        raise ValueError("a number is null")
    return number


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false is missing")
    return value


def _listed(read: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def read_all(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError("a list is missing")
        return tuple(read(one) for one in value)

    return read_all


def _pair(value: Any) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError("a pair is missing")
    return _whole(value[0]), _whole(value[1])


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("an object is missing")
    return value


def _states(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_AGENTS or set(value) - set("wifau"):
        raise ValueError("the states of agents are unknown")
    return value


_READ: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("run", "host", "method", "text", "state", "reason"), _text),
    **dict.fromkeys(("pid", "n_agents", "n_slots", "own"), _whole),
    **dict.fromkeys(("slot", "update", "bytes", "messages"), _whole),
    **dict.fromkeys(("share", "cost", "rmse", "held_out", "largest", "median"), _number),
    "time": _known,
    "started": _known,
    "one_cost": _flag,
    "names": _listed(_text),
    "links": _listed(_pair),
    "waits": _listed(_pair),
    "states": _states,
    "updates": _listed(_whole),
    "costs": _listed(_number),
    "link_bytes": _listed(_whole),
    "report": _object,
}
