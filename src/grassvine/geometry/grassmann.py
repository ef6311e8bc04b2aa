"""The Grassmann manifold Gr(r, m): r-dimensional subspaces of ℝᵐ, each given by a basis U, UᵀU = I.

Table 1 of the paper in a form without SVDs of tall matrices. The functions of singular values that
it needs are smooth functions of the *squared* sines or of the cosines, so they are taken from an
r×r eigen- or singular value decomposition and stay accurate where angles are tiny or coincide.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from grassvine.foundations.arrays import Array, as_basis
from grassvine.foundations.errors import BasisError, InputError
from grassvine.foundations.options import rank_within
from grassvine.geometry.mean import frechet_mean


@dataclass(frozen=True, slots=True)
class Grassmann:
    """Subspaces; two bases that differ by a rotation, U and UQ, are the same point."""

    def as_point(
        self,
        value: ArrayLike,
        *,
        n_items: int | None = None,
        rank: int | None = None,
        name: str = "basis",
        error: type[InputError] = BasisError,
    ) -> Array:
        """Return the value as an orthonormal basis."""
        return as_basis(value, n_items=n_items, rank=rank, name=name, error=error)

    def random_point(self, n_items: int, rank: int, rng: Generator) -> Array:
        """Draw a subspace uniformly: the span of a Gaussian matrix."""
        rank_within(rank, n_items, error=BasisError)
        return np.ascontiguousarray(np.linalg.qr(rng.standard_normal((n_items, rank)))[0])

    def project(self, point: Array, vector: Array) -> Array:
        """Return (I − UUᵀ)Z."""
        return vector - point @ (point.T @ vector)

    def exp(self, point: Array, tangent: Array) -> Array:
        """Return U·cos(S) + ξ·sin(S)/S with S = (ξᵀξ)^½, made orthonormal again.

        The same as UV cos(Σ)Vᵀ + W sin(Σ)Vᵀ of the SVD ξ = WΣVᵀ. Rounding is repaired by one
        Newton step towards the polar factor, U(3I − UᵀU)/2, which keeps the columns where they
        are; a QR repair could flip them.
        """
        squares, directions = np.linalg.eigh(tangent.T @ tangent)
        angles = np.sqrt(np.maximum(squares, 0.0))
        cosines = (directions * np.cos(angles)) @ directions.T
        sincs = (directions * np.sinc(angles / np.pi)) @ directions.T
        moved = point @ cosines + tangent @ sincs
        return moved @ (1.5 * np.eye(len(squares)) - 0.5 * (moved.T @ moved))

    def log(self, point: Array, other: Array) -> Array:
        """Return (V* − U(UᵀV*))·θ/sin θ, where V* = V·polar(VᵀU) is V turned to face U.

        UᵀV* is symmetric with the cosines of the principal angles θ as eigenvalues, and θ/sin θ is
        a smooth function of cos θ, equal to 1 at θ = 0. No arccos of a cosine near 1 decides a
        digit: a distance of 1e-11 keeps four. Where an angle is π/2 the shortest way is not
        unique (the cut locus): the length is right, the direction is one of several.
        """
        left, cosines, right = np.linalg.svd(other.T @ point)
        facing = other @ (left @ right)
        cosines = np.minimum(cosines, 1.0)
        sines = np.sqrt((1.0 - cosines) * (1.0 + cosines))
        small = sines == 0.0
        stretch = np.where(small, 1.0, np.arctan2(sines, cosines) / np.where(small, 1.0, sines))
        across = facing - point @ (point.T @ facing)
        return across @ ((right.T * stretch) @ right)

    def distance(self, point: Array, other: Array) -> float:
        """Return ‖Log_U(V)‖, the root of the sum of the squared principal angles."""
        return float(np.linalg.norm(self.log(point, other)))

    def principal_angles(self, point: Array, other: Array) -> Array:
        """Return the singular values of Log_U(V), largest first, in radians."""
        angles = np.linalg.svd(self.log(point, other), compute_uv=False)
        return np.asarray(angles, dtype=np.float64)

    def transport(self, target: Array, tangent: Array) -> Array:
        """Carry a tangent vector to ``target`` by projection."""
        return self.project(target, tangent)

    def hessian(self, point: Array, gradient: Array, direction: Array, product: Array) -> Array:
        """Return Proj_U(H[ξ]) − ξ(UᵀG) for the Euclidean gradient G and product H[ξ]."""
        return self.project(point, product) - direction @ (point.T @ gradient)

    def mean(self, points: Sequence[Array]) -> Array:
        """Return the Fréchet mean, found from the dominant subspace of Σ U_iU_iᵀ."""
        rank = points[0].shape[1]
        start = np.linalg.svd(np.hstack(points), full_matrices=False)[0][:, :rank]
        return frechet_mean(self, points, np.ascontiguousarray(start))
