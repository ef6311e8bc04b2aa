"""Geometries: the Grassmann manifold and Euclidean space."""

from grassvine.geometry.base import Geometry
from grassvine.geometry.euclidean import Euclidean
from grassvine.geometry.grassmann import Grassmann

__all__ = ["Euclidean", "Geometry", "Grassmann"]
