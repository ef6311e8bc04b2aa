"""The Ray engine: agents in the actors of a Ray cluster."""

from grassvine.engines.ray.cluster import ray_cluster
from grassvine.engines.ray.engine import RayEngine
from grassvine.engines.ray.object_store import FromStore
from grassvine.engines.ray.placement import Place

__all__ = ["FromStore", "Place", "RayEngine", "ray_cluster"]
