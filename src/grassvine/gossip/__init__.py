"""How agents move: the step, the method, the plan that all agree on, and what was recorded."""

from grassvine.gossip.agent import Agent, GossipAgent
from grassvine.gossip.averages import NeighbourAgent
from grassvine.gossip.deepca import DeEPCA
from grassvine.gossip.descent import descend
from grassvine.gossip.dlmafit import DLMaFit, DLMaFitAgent
from grassvine.gossip.exact import Exact
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
from grassvine.gossip.offset_model import Offsets
from grassvine.gossip.plan import Plan
from grassvine.gossip.report import Observer, StepReport
from grassvine.gossip.rextra import REXTRA
from grassvine.gossip.step import Move, gossip_step
from grassvine.gossip.tracking import Tracked
from grassvine.gossip.validated import Validated

__all__ = [
    "REXTRA",
    "Agent",
    "DLMaFit",
    "DLMaFitAgent",
    "DeEPCA",
    "EarlyStop",
    "Exact",
    "Gossip",
    "GossipAgent",
    "History",
    "Message",
    "Method",
    "Move",
    "NeighbourAgent",
    "Observer",
    "Offsets",
    "Plan",
    "Recorder",
    "StepReport",
    "StepSize",
    "Tracked",
    "Validated",
    "decode",
    "descend",
    "encode",
    "gossip_step",
    "parallel",
    "precon_parallel",
    "precon_stochastic",
    "stochastic",
]
