"""One of two agents in a process of its own, which exchange bytes on stdin and stdout.

``python -m tests.sums.one_member CASE NUMBER FILE`` saves the agent's state.
"""

import os
import struct
import sys

import numpy as np
from tests.sums.cases import CASES, agent_of

import grassvine as gv
from grassvine.foundations.blas import one_blas_thread
from grassvine.protocol import decode, encode

LENGTH = struct.Struct("<q")
NETWORK = gv.networks.path(2)


def main(name: str, number: int, path: str) -> None:
    """Run an agent of a case until its program has ended."""
    # What a library prints must not come among the bytes.
    sending, receiving = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
    os.dup2(2, 1)
    plan = CASES[name].plan(NETWORK)
    agent = agent_of(plan, CASES[name].problems(NETWORK.n_agents)[number], number)
    with one_blas_thread():
        finished, slot = "", 0
        while not finished or slot % 2:  # the root still sends the last total
            ((sender, _),) = plan.timetable.deliveries(slot)
            if sender == number:
                data = encode(agent.outgoing(slot))
                sending.write(LENGTH.pack(len(data)) + data)
                sending.flush()
            else:
                data = receiving.read(*LENGTH.unpack(receiving.read(LENGTH.size)))
                message = decode(data, agent.expected(slot), sender=sender, slot=slot)
                finished = agent.meet(slot, [message]).finished
            slot += 1
    np.savez(path, **agent.state())  # type: ignore[arg-type]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
