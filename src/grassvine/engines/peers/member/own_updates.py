"""One update of an agent that counts its own updates, and what its log says about it."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from grassvine.engines.base import attributed
from grassvine.engines.peers.member.pairing import Meeting
from grassvine.engines.peers.member.walk import Met
from grassvine.protocol.agent import Agent, State
from grassvine.protocol.message import Shapes, decode, encode
from grassvine.protocol.report import StepReport

MET, OWN = "met", "agent."  # in log entries: whom the agent met, and its own entry


class Ready(NamedTuple):
    """What an agent sends at its next meeting, and what it accepts."""

    body: bytes
    shapes: Shapes


def ready_for(agent: Agent, number: int) -> Ready:
    """Prepare the meeting with a number."""
    return attributed(
        agent, number, lambda: Ready(encode(agent.outgoing(number)), agent.expected(number))
    )


def meet(agent: Agent, number: int, meeting: Meeting) -> tuple[State, StepReport]:
    """Let an agent meet a neighbour; return the log entry and the report."""
    neighbour, note = meeting
    inbox = [decode(note.body, agent.expected(number), sender=neighbour, slot=note.updates)]
    report = attributed(agent, number, lambda: agent.meet(number, inbox))
    own = {f"{OWN}{name}": array for name, array in agent.log_entry().items()}
    return {MET: np.array([neighbour, note.updates], dtype=np.int64), **own}, report


def own_entries(entries: Iterable[State], meetings: list[Met]) -> Iterator[State]:
    """Yield the agent's own log entries, and add whom it met to ``meetings``."""
    for entry in entries:
        neighbour, updates = (int(one) for one in entry[MET])
        meetings.append(Met(neighbour, updates))
        own = {name.removeprefix(OWN): one for name, one in entry.items() if name.startswith(OWN)}
        if own:
            yield own
