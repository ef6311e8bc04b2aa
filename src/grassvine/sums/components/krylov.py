r"""Block Krylov spaces of a symmetric matrix C of which only products with blocks are known.

A space has orthonormal columns Q, and W, orthonormal too, holds what C leads out of it:

.. math::

    CQ = QH + WT, \qquad QᵀW = 0, \qquad H = VΘVᵀ

U = QV_r is the best basis within span Q for r leading eigenvectors, and its residual needs no
product: CU − UΘ_r = W(TV_r). The space grows by the directions of W in which residuals are left, so
a block shrinks as eigenvectors are found. Orthogonal iteration uses the last block only; the whole
space needs about the square root of its number of products.

Agents whose arithmetic differs have directions of W that differ by rounding over the size of the
residual, so an image is not quite that of an agent's own block V. The leading eigenvectors hardly
notice, because their share of V is as small as the residual, provided that VᵀCQ is taken from T and
not from the image. The signs of V must be equal, and another LAPACK may return others.
"""

from dataclasses import dataclass

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.sums.program import Subprogram, agree


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Directions V orthonormal to Q and W, by which a space is extended, and VᵀCQ."""

    columns: Array
    coupling: Array


@dataclass(frozen=True, slots=True, eq=False)
class KrylovSpace:
    """Q, H, W and T as above; eigenvalues Θ in descending order, with their V."""

    basis: Array
    inner: Array
    outside: Array
    coupling: Array
    values: Array
    vectors: Array

    @property
    def noise(self) -> float:
        """The rounding of a product with C, with a safety factor of ten."""
        size = float(np.abs(self.values).max(initial=0.0))
        return 10.0 * float(np.finfo(float).eps) * float(np.sqrt(len(self.basis))) * size

    def residual(self, rank: int) -> Array:
        """Return TV_r, the residual in coordinates of W."""
        return self.coupling @ self.vectors[:, :rank]


@dataclass(frozen=True, slots=True, eq=False)
class Extension:
    """A space and the block by which it is extended next."""

    space: KrylovSpace
    block: Block


@dataclass(frozen=True, slots=True, eq=False)
class _Grown:
    """A space with a block, and what leads out of it and W, before this becomes part of W.

    That is directions·left·diag(sizes)·right, for the last ``len(right)`` columns of the basis.
    """

    space: KrylovSpace
    directions: Array
    left: Array
    sizes: Array
    right: Array

    @property
    def n_fresh(self) -> int:
        """The number of directions that are more than rounding."""
        n_items = len(self.space.basis)
        room = n_items - self.space.basis.shape[1] - self.space.outside.shape[1]
        return min(int(np.count_nonzero(self.sizes > self.space.noise)), room)


@dataclass(frozen=True, slots=True, eq=False)
class _Residual:
    """Left singular vectors of TV_r, a basis of the coordinates of W, and singular values."""

    directions: Array
    sizes: Array


def empty_space(n_items: int) -> KrylovSpace:
    """Return the space without dimensions."""
    none = np.zeros((n_items, 0))
    return KrylovSpace(none, none[:0], none, none[:0], np.zeros(0), none[:0])


def eigenvectors(space: KrylovSpace, rank: int) -> Array:
    """Return U for the largest eigenvalues."""
    return np.ascontiguousarray(space.basis @ space.vectors[:, :rank])


def extended(space: KrylovSpace, block: Block, image: Array) -> Subprogram[KrylovSpace]:
    """Add a block with its image under C."""
    grown = _grown(space, block, image)
    return _with_outside(grown, int((yield from agree(grown.n_fresh))))


def _grown(space: KrylovSpace, block: Block, image: Array) -> _Grown:
    basis = np.column_stack([space.basis, block.columns])
    known = np.column_stack([basis, space.outside])
    coordinates = known.T @ image
    within, outside = np.split(coordinates, [basis.shape[1]])
    corner = within[space.basis.shape[1] :]
    below = block.coupling
    inner = np.block([[space.inner, below.T], [below, 0.5 * (corner + corner.T)]])
    values, vectors = np.linalg.eigh(inner)
    grown = KrylovSpace(
        basis,
        inner,
        space.outside,
        np.column_stack([space.coupling, outside]),
        values[::-1],
        vectors[:, ::-1],
    )
    directions, factor = np.linalg.qr(image - known @ coordinates)
    return _Grown(grown, directions, *np.linalg.svd(factor))


def _with_outside(grown: _Grown, n_fresh: int) -> KrylovSpace:
    """Return the space with the largest directions that lead out of it as part of W."""
    space = grown.space
    if not n_fresh:
        return space
    known = np.column_stack([space.basis, space.outside])
    # Small directions are not orthogonal to the others before they have length 1.
    fresh = grown.directions @ grown.left[:, :n_fresh]
    fresh, turn = np.linalg.qr(fresh - known @ (known.T @ fresh))
    last = turn @ (grown.sizes[:n_fresh, None] * grown.right[:n_fresh])
    earlier = np.zeros((n_fresh, space.basis.shape[1] - grown.right.shape[1]))
    return KrylovSpace(
        space.basis,
        space.inner,
        np.column_stack([space.outside, fresh]),
        np.vstack([space.coupling, np.column_stack([earlier, last])]),
        space.values,
        space.vectors,
    )


def next_block(space: KrylovSpace, rank: int) -> Subprogram[Extension]:
    """Take the directions of the residual out of W; return the rest of the space, and them."""
    residual = _residual(space, rank)
    width = int((yield from agree(int(np.count_nonzero(residual.sizes > space.noise)))))
    return _taken(space, residual.directions, width)


def _residual(space: KrylovSpace, rank: int) -> _Residual:
    directions, sizes, _ = np.linalg.svd(space.residual(rank))
    return _Residual(directions, sizes)


def random_block(space: KrylovSpace, width: int, rng: np.random.Generator) -> Extension:
    """Return the space and random directions orthonormal to Q and W; where no room is left, W."""
    known = np.column_stack([space.basis, space.outside])
    room = known.shape[0] - known.shape[1]
    if not room:
        n_outside = space.outside.shape[1]
        return _taken(space, np.eye(n_outside), n_outside)
    block = rng.standard_normal((known.shape[0], min(width, room)))
    for _ in range(2):
        block = np.linalg.qr(block - known @ (known.T @ block))[0]
    return unconnected(space, block)


def unconnected(space: KrylovSpace, columns: Array) -> Extension:
    """Return the space with a block that is orthogonal to W too."""
    return Extension(space, Block(columns, np.zeros((columns.shape[1], space.basis.shape[1]))))


def restarted(space: KrylovSpace, kept: int) -> KrylovSpace:
    """Return the space of the best eigenvectors alone, which bounds memory and work."""
    return KrylovSpace(
        eigenvectors(space, kept),
        np.diag(space.values[:kept]),
        space.outside,
        space.residual(kept),
        space.values[:kept],
        np.eye(kept),
    )


def _taken(space: KrylovSpace, turn: Array, width: int) -> Extension:
    """Turn W, and take its first columns out."""
    outside, coupling = space.outside @ turn, turn.T @ space.coupling
    rest = KrylovSpace(
        space.basis, space.inner, outside[:, width:], coupling[width:], space.values, space.vectors
    )
    fixed = stream(0, "krylov", "signs").standard_normal(len(outside))
    signs = np.where(fixed @ outside[:, :width] < 0.0, -1.0, 1.0)
    columns = np.ascontiguousarray(outside[:, :width] * signs)
    return Extension(rest, Block(columns, signs[:, None] * coupling[:width]))
