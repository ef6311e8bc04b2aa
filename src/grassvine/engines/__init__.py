"""Where agents run: an engine knows who sends to whom, never why."""

from grassvine.engines.base import AgentMaker, Engine, Outcome
from grassvine.engines.local import LocalEngine
from grassvine.engines.ray import FromStore, Place, RayEngine, ray_cluster
from grassvine.engines.threads import ThreadsEngine

__all__ = [
    "AgentMaker",
    "Engine",
    "FromStore",
    "LocalEngine",
    "Outcome",
    "Place",
    "RayEngine",
    "ThreadsEngine",
    "ray_cluster",
]
