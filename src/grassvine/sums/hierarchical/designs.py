r"""Regressions of many tasks, each reduced to a triangular system with the same likelihood.

From [X_t y_t] = QR follow R_t, q_t and ρ_t with

.. math::

    ‖y_t − X_tw‖² = ‖q_t − R_tw‖² + ρ_t

for every w. A task with fewer samples than coefficients is kept as it is, so R_t has at most as
many rows as there are coefficients.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grassvine.data.tasks import Tasks
from grassvine.foundations.arrays import Array, Indices

# Tasks are processed together in blocks of about this many numbers.
BLOCK_SIZE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some tasks: their numbers, R_t padded with zero rows to one size, q_t, ρ_t and sample counts.

    A zero row with target 0 changes nothing but the number of residuals, as if ρ_t had one sample
    less.
    """

    tasks: Indices
    rows: Array
    targets: Array
    remainders: Array
    counts: Array


@dataclass(frozen=True, eq=False)
class Designs:
    """R_t and q_t of all tasks below each other, the number of rows of each, ρ_t, sample counts."""

    rows: Array
    targets: Array
    sizes: Indices
    remainders: Array
    counts: Indices

    @property
    def n_coefficients(self) -> int:
        """The number of coefficients of a task."""
        return self.rows.shape[1]

    @classmethod
    def of(cls, tasks: Tasks, *, intercepts: bool) -> "Designs":
        """Reduce tasks; the last coefficient is the intercept, if there is one."""
        n_coefficients = tasks.n_items + intercepts
        rows, targets = [np.zeros((0, n_coefficients))], [np.zeros(0)]
        remainders = np.zeros(tasks.n_tasks)
        for number, (x, y) in enumerate(zip(tasks.features, tasks.targets, strict=True)):
            samples = np.column_stack([x, np.ones(len(y)), y] if intercepts else [x, y])
            if len(y) > n_coefficients + 1:
                triangle = np.linalg.qr(samples).R
                samples, remainders[number] = triangle[:-1], triangle[-1, -1] ** 2
            rows.append(samples[:, :-1])
            targets.append(samples[:, -1])
        sizes = np.array([len(y) for y in targets[1:]], dtype=np.int64)
        counts = np.array([len(y) for y in tasks.targets], dtype=np.int64)
        return cls(np.vstack(rows), np.concatenate(targets), sizes, remainders, counts)

    def scaled(self, scales: Array, centre: float, scale: float) -> "Designs":
        """Return the designs of features divided by scales and targets (y − centre)/scale.

        A centre other than 0 requires an intercept, the last coefficient, with scale 1.
        """
        targets = self.targets - centre * self.rows[:, -1] if centre else self.targets
        return Designs(
            self.rows / scales,
            targets / scale,
            self.sizes,
            self.remainders / scale**2,
            self.counts,
        )

    def gradients(self) -> Array:
        """Return R_tᵀq_t, which is X_tᵀy_t, of each task."""
        products = self.rows * self.targets[:, None]
        ends = np.cumsum(np.concatenate([[0], self.sizes]))
        sums = np.concatenate([np.zeros((1, self.n_coefficients)), np.cumsum(products, axis=0)])
        gradients: Array = np.diff(sums[ends], axis=0)
        return gradients

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All tasks with samples, those of similar size together."""
        return tuple(self._blocks())

    def _blocks(self) -> Iterator[Block]:
        starts = np.cumsum(self.sizes) - self.sizes
        filled = np.flatnonzero(self.counts)
        order = filled[np.argsort(self.sizes[filled], kind="stable")]
        first = 0
        while first < len(order):
            last = _end_of_block(self.sizes[order], first, self.n_coefficients)
            chosen = order[first:last]
            size = int(self.sizes[chosen[-1]])
            places = np.arange(size)
            known = places < self.sizes[chosen, None]
            index = np.where(known, starts[chosen, None] + places, 0)
            rows = self.rows[index] * known[:, :, None]
            yield Block(
                chosen,
                rows,
                self.targets[index] * known,
                self.remainders[chosen],
                (self.counts[chosen] - size).astype(np.float64),
            )
            first = last


def _end_of_block(sizes: Indices, first: int, width: int) -> int:
    """Return where a block ends that begins at the first of sizes in ascending order."""
    last = first + 1
    while last < len(sizes) and (last + 1 - first) * int(sizes[last]) * width <= BLOCK_SIZE:
        if 2 * sizes[first] < sizes[last]:  # too much padding
            break
        last += 1
    return last
