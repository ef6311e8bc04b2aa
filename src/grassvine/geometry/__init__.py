"""Spaces that bases move in: a geometry knows no problem and no neighbour."""

from grassvine.geometry.base import Geometry
from grassvine.geometry.euclidean import Euclidean
from grassvine.geometry.grassmann import Grassmann

__all__ = ["Euclidean", "Geometry", "Grassmann"]
