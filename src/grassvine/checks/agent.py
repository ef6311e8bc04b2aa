"""The laws of an agent."""

import numpy as np

from grassvine.checks.laws import require
from grassvine.foundations.blas import one_blas_thread
from grassvine.gossip.agent import Agent
from grassvine.gossip.message import decode, encode


def check_agent(agent: Agent, neighbour: Agent) -> None:
    """Let an agent meet a neighbour at slot 0 and check that it keeps to what engines rely on."""
    with one_blas_thread():
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
        before = {name: array.copy() for name, array in agent.state().items()}
        agent.conclude(1)
        for name, array in agent.state().items():
            require(np.array_equal(array, before[name]), "conclude does not move", f"{name} moved")
