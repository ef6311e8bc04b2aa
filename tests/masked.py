"""Agents of a plan whose parts are masked, as between organisations; they can be serialised."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import grassvine as gv
from grassvine.peers.identity.cards import x25519_text
from grassvine.peers.joining.masks import PairMasks
from grassvine.problems import Problem
from grassvine.protocol import Agent
from grassvine.sums import SumAgent
from grassvine.sums.fixed_point import FixedPointSummation

DIGEST = b"plan of a test".ljust(32)


@cache
def private_key(number: int) -> X25519PrivateKey:
    """Return the key of a member, the same in all processes."""
    return X25519PrivateKey.from_private_bytes(bytes([number + 1]) * 32)


def masks_of(number: int, n_members: int, digest: bytes = DIGEST) -> PairMasks:
    """Return the masks of a member."""
    keys = [x25519_text(private_key(one).public_key()) for one in range(n_members)]
    return PairMasks(digest, private_key(number), number, keys)


@dataclass(frozen=True)
class MaskedFactory:
    """Creates the agent of a member."""

    plan: gv.Plan
    number: int
    problem: Problem
    digest: bytes = DIGEST

    def __call__(self) -> Agent:
        """Create the agent."""
        n_members = self.plan.network.n_agents
        agent = self.plan.agent(self.number, self.problem)
        assert isinstance(agent, SumAgent)
        masks = masks_of(self.number, n_members, self.digest)
        agent.add_up_by(FixedPointSummation(self.number, n_members, masks))
        return agent


def masked_factories(
    plan: gv.Plan, problems: Sequence[Problem], digest: bytes = DIGEST
) -> list[MaskedFactory]:
    """Return what creates the agents of all members."""
    return [MaskedFactory(plan, number, one, digest) for number, one in enumerate(problems)]
