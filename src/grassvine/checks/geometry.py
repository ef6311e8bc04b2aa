"""Check of a geometry."""

import numpy as np

from grassvine.checks.assertions import require_close
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.seeds import stream
from grassvine.geometry import Geometry

# Well above rounding errors; a wrong formula causes errors of the order of the step, about 1.
TOLERANCE = 1e-12


def check_geometry(geometry: Geometry, n_items: int, rank: int, *, seed: int = 0) -> None:
    """Check a geometry at random points, for example that log is the inverse of exp.

    Parameters
    ----------
    geometry : Geometry
    n_items, rank : int
        Shape of the points.
    seed : int, default=0
        Random seed.

    Raises
    ------
    CheckFailed

    Examples
    --------
    >>> import grassvine as gv
    >>> gv.checks.check_geometry(gv.geometry.Grassmann(), n_items=10, rank=3)
    """
    rng = stream(seed, "check", "geometry")
    with one_blas_thread():
        point = geometry.random_point(n_items, rank, rng)
        vector = rng.standard_normal((n_items, rank))
        tangent = geometry.project(point, vector)
        tangent *= 0.5 / max(1.0, float(np.linalg.norm(tangent)))
        other = geometry.exp(point, tangent)
        back = geometry.log(other, point)
        length = float(np.linalg.norm(tangent))
        zero = np.zeros_like(point)

        def check(found: object, wanted: object, requirement: str) -> None:
            require_close(found, wanted, TOLERANCE, requirement)  # type: ignore[arg-type]

        geometry.as_point(other, n_items=n_items, rank=rank, name="exp of a tangent")
        check(geometry.project(point, tangent), tangent, "projection must be idempotent")
        inner = float(np.sum((vector - geometry.project(point, vector)) * tangent))
        check(inner, 0.0, "projection must be orthogonal")
        check(geometry.exp(point, zero), point, "exp of the zero tangent must be the point itself")
        check(geometry.distance(point, point), 0.0, "the distance of a point from itself must be 0")
        check(geometry.log(point, other), tangent, "log must be the inverse of exp")
        check(
            geometry.distance(geometry.exp(other, back), point),
            0.0,
            "exp must be the inverse of log",
        )
        check(geometry.project(other, back), back, "log must be a tangent vector")
        check(geometry.distance(point, other), length, "the distance must be the norm of log")
        check(geometry.distance(other, point), length, "the distance must be symmetric")
        moved = geometry.transport(other, tangent)
        check(geometry.project(other, moved), moved, "transport must yield a tangent vector")
        middle = geometry.exp(point, 0.5 * tangent)
        mean = geometry.mean([point, other])
        check(geometry.distance(mean, middle), 0.0, "the mean of two points must be their midpoint")
