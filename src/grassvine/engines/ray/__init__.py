"""The Ray engine: agents in the actors of a Ray cluster."""

from grassvine.engines.ray.cluster import ray_cluster
from grassvine.engines.ray.engine import RayEngine
from grassvine.engines.ray.object_store import FromObjectStore
from grassvine.engines.ray.placement import Placement

__all__ = ["FromObjectStore", "Placement", "RayEngine", "ray_cluster"]
