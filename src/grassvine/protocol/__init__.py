"""The interface between methods and engines: agents, messages, reports, history and observers."""

from grassvine.protocol.agent import Agent, State
from grassvine.protocol.history import History, Recorder
from grassvine.protocol.message import Message, checked_message, decode, encode
from grassvine.protocol.method import Method, Setup
from grassvine.protocol.observers import EarlyStop
from grassvine.protocol.report import Observer, StepReport

__all__ = [
    "Agent",
    "EarlyStop",
    "History",
    "Message",
    "Method",
    "Observer",
    "Recorder",
    "Setup",
    "State",
    "StepReport",
    "checked_message",
    "decode",
    "encode",
]
