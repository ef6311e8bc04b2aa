"""Engines, which run agents by a timetable without knowing their method."""

from grassvine.engines.base import AgentFactory, Engine, EngineResult
from grassvine.engines.local import LocalEngine
from grassvine.engines.ray import FromObjectStore, Placement, RayEngine, ray_cluster
from grassvine.engines.threads import ThreadsEngine

__all__ = [
    "AgentFactory",
    "Engine",
    "EngineResult",
    "FromObjectStore",
    "LocalEngine",
    "Placement",
    "RayEngine",
    "ThreadsEngine",
    "ray_cluster",
]
