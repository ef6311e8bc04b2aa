"""How agents move: the step, the method, the plan that all agree on, and what was recorded."""

from grassvine.gossip.agent import Agent, GossipAgent
from grassvine.gossip.descent import descend
from grassvine.gossip.dlmafit import DLMaFit, DLMaFitAgent
from grassvine.gossip.history import History, Recorder
from grassvine.gossip.message import Message, decode, encode
from grassvine.gossip.method import (
    Gossip,
    Method,
    StepSize,
    parallel,
    precon_parallel,
    precon_stochastic,
    stochastic,
)
from grassvine.gossip.observers import EarlyStop
from grassvine.gossip.plan import Plan
from grassvine.gossip.report import Observer, StepReport
from grassvine.gossip.step import Move, gossip_step

__all__ = [
    "Agent",
    "DLMaFit",
    "DLMaFitAgent",
    "EarlyStop",
    "Gossip",
    "GossipAgent",
    "History",
    "Message",
    "Method",
    "Move",
    "Observer",
    "Plan",
    "Recorder",
    "StepReport",
    "StepSize",
    "decode",
    "descend",
    "encode",
    "gossip_step",
    "parallel",
    "precon_parallel",
    "precon_stochastic",
    "stochastic",
]
