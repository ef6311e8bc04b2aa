"""Engines, which run agents by a timetable without knowing their method."""

from grassvine.engines.base import AgentFactory, Engine, EngineResult
from grassvine.engines.in_process import LocalEngine, ThreadsEngine
from grassvine.engines.ray import FromObjectStore, Placement, RayEngine, ray_cluster

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
