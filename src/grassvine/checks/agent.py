"""The laws of an agent."""

from collections.abc import Callable

import numpy as np

from grassvine.checks.laws import require
from grassvine.foundations.blas import one_blas_thread
from grassvine.protocol.agent import Agent, State
from grassvine.protocol.message import Message, decode, encode


def check_agent(make: Callable[[], Agent], neighbour: Agent) -> None:
    """Let an agent meet a neighbour at slot 0 and check that it keeps to what engines rely on.

    It is made a second time, to be brought to where the first stands.
    """
    with one_blas_thread():
        agent = make()
        first, second = encode(agent.outgoing(0)), encode(agent.outgoing(0))
        require(first == second, "outgoing has no side effect", "a second message differed")
        shapes = neighbour.expected(0)
        read = decode(first, shapes)
        require(encode(read) == first, "a message survives the wire", "its bytes changed")
        require(
            (read.sender, read.slot) == (agent.id, 0),
            "a message names its sender and slot",
            f"it says agent {read.sender}, slot {read.slot}",
        )
        inbox = [neighbour.outgoing(0)]
        sent = encode(inbox[0])
        report = agent.meet(0, inbox)
        require(encode(inbox[0]) == sent, "an agent leaves its inbox alone", "a message changed")
        require(
            (report.agent, report.slot) == (agent.id, 0),
            "a report names its agent and slot",
            f"it says agent {report.agent}, slot {report.slot}",
        )
        size = inbox[0].nbytes
        require(
            (report.messages, report.bytes) == (1, size),
            "a report counts what was received",
            f"{report.messages} messages of {report.bytes} bytes, not 1 of {size}",
        )
        log_entry, snapshot, before = (
            _copied(told) for told in (agent.log_entry(), agent.snapshot(), agent.state())
        )
        agent.conclude(1)
        _require_same(agent.state(), before, "conclude does not move")
        _require_same(agent.snapshot(), snapshot, "what is asked has no side effect")
        twin = make()
        twin.restore(iter([log_entry]), snapshot)
        _require_twins(twin, agent, neighbour.outgoing(1))


def _require_twins(twin: Agent, agent: Agent, message: Message) -> None:
    """Require that an agent which was brought back stands and moves like the other."""
    law = "an agent can be brought back"
    sent = encode(twin.outgoing(1)) == encode(agent.outgoing(1))
    require(sent, law, "it sends other bytes")
    require(twin.expected(1) == agent.expected(1), law, "it accepts other shapes")
    _require_same(twin.state(), agent.state(), law)
    _require_same(twin.snapshot(), agent.snapshot(), law)
    # Not every agent can meet the same neighbour again: a parent hears its children in turn.
    if agent.expected(1) == {name: array.shape for name, array in message.arrays.items()}:
        # The repr of a float is exact, and NaN is like NaN.
        same = repr(twin.meet(1, [message])) == repr(agent.meet(1, [message]))
        require(same, law, "its next report differs")
        _require_same(twin.state(), agent.state(), law)
    require(repr(twin.conclude(2)) == repr(agent.conclude(2)), law, "it concludes otherwise")


def _copied(told: State) -> State:
    """Copy arrays as a file would."""
    return {name: np.array(array, order="C") for name, array in told.items()}


def _require_same(found: State, wanted: State, law: str) -> None:
    require(set(found) == set(wanted), law, f"there are {sorted(found)}, not {sorted(wanted)}")
    for name, array in wanted.items():
        same = found[name].shape == array.shape and found[name].tobytes() == array.tobytes()
        require(same, law, f"{name} differs")
