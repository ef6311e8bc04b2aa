"""Where agents run: an engine knows who meets whom, never why."""

from grassvine.engines.base import AgentMaker, Engine, Outcome
from grassvine.engines.local import LocalEngine
from grassvine.engines.place import Place
from grassvine.engines.ray import RayEngine
from grassvine.engines.ray_cluster import ray_cluster
from grassvine.engines.ray_store import FromStore
from grassvine.engines.run import ProblemSource, Run, run
from grassvine.engines.threads import ThreadsEngine

__all__ = [
    "AgentMaker",
    "Engine",
    "FromStore",
    "LocalEngine",
    "Outcome",
    "Place",
    "ProblemSource",
    "RayEngine",
    "Run",
    "ThreadsEngine",
    "ray_cluster",
    "run",
]
