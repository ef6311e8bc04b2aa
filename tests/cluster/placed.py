"""Agents whose files lie on one host each: ``python -m tests.cluster.placed write|learn …``.

``write NUMBER`` puts a part into the folder of temporary files, which every host has for itself;
``learn ADDRESS HOST …`` lets an agent learn on each of the hosts, and prints the digest of what all
found together.
"""

import hashlib
import sys
from functools import partial
from pathlib import Path

from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.datasets import read_ratings

PART = Path("/tmp/part.csv")


def part(number: int) -> gv.Ratings:
    """Return what the host of a number holds."""
    return ratings(seed=number)


def write(number: int) -> None:
    """Put a part where only this host sees it."""
    mine = part(number)
    rows = zip(
        mine.users_of_values().tolist(), mine.items.tolist(), mine.values.tolist(), strict=True
    )
    PART.write_text("user,item,rating\n" + "".join(f"{u},{i},{v!r}\n" for u, i, v in rows))


def read() -> gv.CompletionProblem:
    """Read the part of this host."""
    table = read_ratings(str(PART))
    assert len(table.items) == N_ITEMS
    return gv.CompletionProblem(table.ratings)


def learn(address: str, hosts: list[str]) -> str:
    """Learn in a cluster, an agent on each host."""
    placements = [gv.engines.Placement(labels={"host": host}) for host in hosts]
    engine = gv.RayEngine(address, agents_per_actor=4, placements=placements)
    return digest(gv.run(plan(len(hosts)), [read] * len(hosts), engine=engine))


def learn_here(numbers: list[int]) -> str:
    """Learn the same in this process."""
    problems = [partial(gv.CompletionProblem, part(number)) for number in numbers]
    return digest(gv.run(plan(len(numbers)), problems))


def plan(n_agents: int) -> gv.Plan:
    """Return what the agents agree on."""
    return gv.Plan(N_ITEMS, 3, gv.networks.ring(n_agents), gv.Gossip(max_iter=20))


def digest(run: gv.Run) -> str:
    """Return a name for what all agents found."""
    return hashlib.sha256(b"".join(basis.tobytes() for basis in run.bases)).hexdigest()


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(int(sys.argv[2]))
    else:
        sys.stdout.write(learn(sys.argv[2], sys.argv[3:]))
