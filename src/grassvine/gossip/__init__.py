"""The paper's gossip in its four variants: the step, its preconditioner, its agent."""

from grassvine.gossip.agent import GossipAgent
from grassvine.gossip.descent import descend
from grassvine.gossip.method import (
    Gossip,
    StepSize,
    parallel,
    precon_parallel,
    precon_stochastic,
    stochastic,
)
from grassvine.gossip.step import Move, gossip_step

__all__ = [
    "Gossip",
    "GossipAgent",
    "Move",
    "StepSize",
    "descend",
    "gossip_step",
    "parallel",
    "precon_parallel",
    "precon_stochastic",
    "stochastic",
]
