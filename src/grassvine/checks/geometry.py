"""The laws of a geometry."""

import numpy as np

from grassvine.checks.laws import require_close
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.seeds import stream
from grassvine.geometry import Geometry

# Rounding of a few products of r columns; a wrong formula errs by the size of the step, about 1.
TOLERANCE = 1e-12


def check_geometry(geometry: Geometry, n_items: int, rank: int, *, seed: int = 0) -> None:
    """Check a geometry at random points: exp and log undo each other, tangents stay tangent."""
    rng = stream(seed, "check", "geometry")
    with one_blas_thread():
        point = geometry.random_point(n_items, rank, rng)
        vector = rng.standard_normal((n_items, rank))
        tangent = geometry.project(point, vector)
        tangent *= 0.5 / max(1.0, float(np.linalg.norm(tangent)))
        other = geometry.exp(point, tangent)
        back = geometry.log(other, point)
        length = float(np.linalg.norm(tangent))
        nowhere = np.zeros_like(point)

        def same(found: object, wanted: object, law: str) -> None:
            require_close(found, wanted, TOLERANCE, law)  # type: ignore[arg-type]

        geometry.as_point(other, n_items=n_items, rank=rank, name="exp of a tangent")
        same(geometry.project(point, tangent), tangent, "projecting twice changes nothing")
        inner = float(np.sum((vector - geometry.project(point, vector)) * tangent))
        same(inner, 0.0, "what projection removes is orthogonal to tangents")
        same(geometry.exp(point, nowhere), point, "exp of nothing stays")
        same(geometry.distance(point, point), 0.0, "a point is at distance 0 from itself")
        same(geometry.log(point, other), tangent, "log undoes exp")
        same(geometry.distance(geometry.exp(other, back), point), 0.0, "exp undoes log")
        same(geometry.project(other, back), back, "log is tangent")
        same(geometry.distance(point, other), length, "the distance is the length of log")
        same(geometry.distance(other, point), length, "the distance is the same both ways")
        carried = geometry.transport(other, tangent)
        same(geometry.project(other, carried), carried, "transport yields a tangent")
        middle = geometry.exp(point, 0.5 * tangent)
        mean = geometry.mean([point, other])
        same(geometry.distance(mean, middle), 0.0, "the mean of two points is half way")
