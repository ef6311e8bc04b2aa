"""The Grassmann manifold Gr(r, m): r-dimensional subspaces of ℝᵐ, given by bases U with UᵀU = I.

Implements Table 1 of the paper without SVDs of tall matrices. The required functions of singular
values are smooth in the *squared* sines or in the cosines, so they are computed from r×r eigenvalue
or singular value decompositions and stay accurate when angles are tiny or coincide.
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
    """The manifold of subspaces; U and UQ with orthogonal Q are the same point.

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine.geometry import Grassmann
    >>> first, second = np.eye(3)[:, :1], np.eye(3)[:, 1:2]
    >>> float(np.degrees(Grassmann().distance(first, second)))
    90.0
    >>> Grassmann().distance(first, -first)  # the same line
    0.0
    """

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
        """Draw a subspace uniformly, as the span of a Gaussian matrix."""
        rank_within(rank, n_items, error=BasisError)
        return np.ascontiguousarray(np.linalg.qr(rng.standard_normal((n_items, rank)))[0])

    def project(self, point: Array, vector: Array) -> Array:
        """Return (I − UUᵀ)Z."""
        return vector - point @ (point.T @ vector)

    def exp(self, point: Array, tangent: Array) -> Array:
        """Return U·cos(S) + ξ·sin(S)/S with S = (ξᵀξ)^½, re-orthonormalised.

        This equals UV cos(Σ)Vᵀ + W sin(Σ)Vᵀ with the SVD ξ = WΣVᵀ. Rounding errors are removed by
        one Newton step towards the polar factor, U(3I − UᵀU)/2, which hardly changes the columns;
        a QR decomposition could flip their signs.
        """
        squares, directions = np.linalg.eigh(tangent.T @ tangent)
        angles = np.sqrt(np.maximum(squares, 0.0))
        cosines = (directions * np.cos(angles)) @ directions.T
        sincs = (directions * np.sinc(angles / np.pi)) @ directions.T
        moved = point @ cosines + tangent @ sincs
        return moved @ (1.5 * np.eye(len(squares)) - 0.5 * (moved.T @ moved))

    def log(self, point: Array, other: Array) -> Array:
        """Return (V* − U(UᵀV*))·θ/sin θ, where V* = V·polar(VᵀU) is the basis of V closest to U.

        UᵀV* is symmetric, its eigenvalues are the cosines of the principal angles θ, and θ/sin θ is
        a smooth function of cos θ, equal to 1 at θ = 0. There is no arccos of a cosine near 1, so
        a distance of 1e-11 still has four correct digits. If an angle is π/2 (the cut locus), the
        shortest geodesic is not unique: the norm is correct, the direction is one of several.
        """
        left, cosines, right = np.linalg.svd(other.T @ point)
        aligned = other @ (left @ right)
        cosines = np.minimum(cosines, 1.0)
        sines = np.sqrt((1.0 - cosines) * (1.0 + cosines))
        zero = sines == 0.0
        ratios = np.where(zero, 1.0, np.arctan2(sines, cosines) / np.where(zero, 1.0, sines))
        normal = aligned - point @ (point.T @ aligned)
        return normal @ ((right.T * ratios) @ right)

    def distance(self, point: Array, other: Array) -> float:
        """Return ‖Log_U(V)‖, the square root of the sum of squared principal angles."""
        return float(np.linalg.norm(self.log(point, other)))

    def principal_angles(self, point: Array, other: Array) -> Array:
        """Return the principal angles (singular values of Log_U(V)) in radians, largest first."""
        angles = np.linalg.svd(self.log(point, other), compute_uv=False)
        return np.asarray(angles, dtype=np.float64)

    def transport(self, target: Array, tangent: Array) -> Array:
        """Transport a tangent vector to ``target`` by projection."""
        return self.project(target, tangent)

    def hessian(self, point: Array, gradient: Array, direction: Array, product: Array) -> Array:
        """Return Proj_U(H[ξ]) − ξ(UᵀG) for the Euclidean gradient G and product H[ξ]."""
        return self.project(point, product) - direction @ (point.T @ gradient)

    def mean(self, points: Sequence[Array]) -> Array:
        """Return the Fréchet mean; the iteration starts at the dominant subspace of Σ U_iU_iᵀ."""
        rank = points[0].shape[1]
        start = np.linalg.svd(np.hstack(points), full_matrices=False)[0][:, :rank]
        return frechet_mean(self, points, np.ascontiguousarray(start))
