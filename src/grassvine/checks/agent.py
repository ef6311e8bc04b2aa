"""Check of an agent."""

from collections.abc import Callable

import numpy as np

from grassvine.checks.assertions import require
from grassvine.foundations.blas import one_blas_thread
from grassvine.protocol.agent import Agent, State
from grassvine.protocol.message import Message, decode, encode


def check_agent(make: Callable[[], Agent], neighbour: Agent) -> None:
    """Check the properties of an agent on which engines rely, in a meeting at slot 0.

    Parameters
    ----------
    make : callable
        Creates the agent. It is called twice: the second agent is restored to the state of the
        first.
    neighbour : Agent
        The agent that it meets.

    Raises
    ------
    CheckFailed

    Examples
    --------
    >>> import grassvine as gv
    >>> plan = gv.Plan(2, 1, gv.networks.path(2), gv.Gossip())
    >>> problem = gv.PCAProblem([[1.0, 0.1], [-1.0, 0.0]])
    >>> gv.checks.check_agent(lambda: plan.agent(0, problem), neighbour=plan.agent(1, problem))
    """
    with one_blas_thread():
        agent = make()
        started = agent.conclude(0)
        require(
            (started.agent, started.slot) == (agent.id, 0),
            "an agent must be able to report before slot 0",
            f"the report contains agent {started.agent}, slot {started.slot}",
        )
        first, second = encode(agent.outgoing(0)), encode(agent.outgoing(0))
        require(first == second, "outgoing must have no side effects", "a second message differed")
        sent = agent.outgoing(0)
        require(
            (sent.sender, sent.slot) == (agent.id, 0),
            "a message must contain its sender and slot",
            f"it contains agent {sent.sender}, slot {sent.slot}",
        )
        read = decode(first, neighbour.expected(0), sender=agent.id, slot=0)
        require(
            encode(read) == first,
            "encoding and decoding must not change a message",
            "its bytes changed",
        )
        inbox = [neighbour.outgoing(0)]
        before_meeting = encode(inbox[0])
        report = agent.meet(0, inbox)
        require(
            encode(inbox[0]) == before_meeting,
            "an agent must not modify its inbox",
            "a message changed",
        )
        require(
            (report.agent, report.slot) == (agent.id, 0),
            "a report must contain its agent and slot",
            f"it contains agent {report.agent}, slot {report.slot}",
        )
        size = inbox[0].nbytes
        require(
            (report.messages, report.bytes) == (1, size),
            "a report must count the received messages and bytes",
            f"{report.messages} messages of {report.bytes} bytes, not 1 of {size}",
        )
        log_entry, snapshot, before = (
            _copied(arrays) for arrays in (agent.log_entry(), agent.snapshot(), agent.state())
        )
        agent.conclude(1)
        _require_same(agent.state(), before, "conclude must not change the state")
        _require_same(
            agent.snapshot(),
            snapshot,
            "reading the state must have no side effects",
        )
        restored = make()
        restored.restore(iter([log_entry]), snapshot)
        _require_equal_behaviour(restored, agent, neighbour.outgoing(1))


def _require_equal_behaviour(restored: Agent, agent: Agent, message: Message) -> None:
    """Check that a restored agent has the same state and behaviour as the original."""
    requirement = "a restored agent must equal the original"
    sent = encode(restored.outgoing(1)) == encode(agent.outgoing(1))
    require(sent, requirement, "it sends different bytes")
    require(restored.expected(1) == agent.expected(1), requirement, "it accepts different shapes")
    _require_same(restored.state(), agent.state(), requirement)
    _require_same(restored.snapshot(), agent.snapshot(), requirement)
    # Not every agent can meet the same neighbour again: in a tree sum, its children send in turn.
    if agent.expected(1) == {name: array.shape for name, array in message.arrays.items()}:
        # The repr of a float is exact, and equal for two NaNs.
        same = repr(restored.meet(1, [message])) == repr(agent.meet(1, [message]))
        require(same, requirement, "its next report differs")
        _require_same(restored.state(), agent.state(), requirement)
    require(
        repr(restored.conclude(2)) == repr(agent.conclude(2)),
        requirement,
        "its final report differs",
    )


def _copied(arrays: State) -> State:
    """Copy arrays in C order, as saving and loading does."""
    return {name: np.array(array, order="C") for name, array in arrays.items()}


def _require_same(found: State, wanted: State, requirement: str) -> None:
    require(set(found) == set(wanted), requirement, f"it has {sorted(found)}, not {sorted(wanted)}")
    for name, array in wanted.items():
        same = found[name].shape == array.shape and found[name].tobytes() == array.tobytes()
        require(same, requirement, f"{name} differs")
