"""The gossip method of the paper and its four variants."""

from grassvine.gossip.agent import GossipAgent
from grassvine.gossip.descent import descend
from grassvine.gossip.method import (
    Gossip,
    GrowingRho,
    StepSize,
    parallel,
    precon_parallel,
    precon_stochastic,
    stochastic,
    with_growing_rho,
)
from grassvine.gossip.step import Move, gossip_step

__all__ = [
    "Gossip",
    "GossipAgent",
    "GrowingRho",
    "Move",
    "StepSize",
    "descend",
    "gossip_step",
    "parallel",
    "precon_parallel",
    "precon_stochastic",
    "stochastic",
    "with_growing_rho",
]
