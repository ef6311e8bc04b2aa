"""Blocks of users: sums over users whose bits do not depend on the number of threads."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.parallel import results_in_order
from grassvine.foundations.watch import Watch

MAX_BLOCKS = 64
LEAST_VALUES_IN_BLOCK = 1 << 17

Block = tuple[int, int]


def user_blocks(ratings: Ratings) -> list[Block]:
    """Return bounds of blocks of users with similar numbers of ratings, from the data alone."""
    # Each block has its own gradient, whose cost should be small relative to its ratings.
    least = max(LEAST_VALUES_IN_BLOCK, 16 * ratings.n_items)
    # A power of two, so that two, four or eight threads get equal work.
    count = min(1 << max(0, (ratings.n_values // least).bit_length() - 1), MAX_BLOCKS)
    if count == 1:
        return [(0, ratings.n_users)]
    targets = np.linspace(0, ratings.n_values, count + 1)[1:-1]
    cuts = np.searchsorted(ratings.starts, targets).tolist()
    return list(pairwise([0, *cuts, ratings.n_users]))


def entries_of_block(ratings: Ratings, users: Block) -> tuple[Indices, Any, Array]:
    """Return starts, items and values of a block of users, the values as float64 for kernels.

    Starts keep the numbers of the users, but count entries from the first one of the block; those
    of other users are undefined.
    """
    first, last = users
    low, high = ratings.starts[first], ratings.starts[last]
    starts = np.empty_like(ratings.starts)  # memory that is not written takes no room
    np.subtract(ratings.starts[first : last + 1], low, out=starts[first : last + 1])
    values = ratings.stored[low:high].astype(np.float64, copy=False)
    items = ratings.items[low:high]
    if not items.flags.writeable:  # mapped from a file: kernels are compiled for arrays in memory
        items, values = items.copy(), values if values.flags.writeable else values.copy()
    return starts, items, values


def add_blocks(
    run: Callable[[Block, list[Array]], None],
    blocks: list[Block],
    shapes: tuple[tuple[int, ...], ...],
    threads: int,
    watch: Watch | None = None,
) -> list[Array]:
    """Compute sums of the given shapes for each block, and add them up in order.

    ``watch`` is called with the completed fraction of the blocks as it grows.
    """

    def fill(block: Block) -> list[Array]:
        sums = [np.zeros(shape) for shape in shapes]
        run(block, sums)
        return sums

    total: list[Array] = []
    for done, part in enumerate(results_in_order(fill, blocks, threads), 1):
        total = total or part
        if part is not total:
            for array, more in zip(total, part, strict=True):
                array += more
        if watch is not None:
            watch(done / len(blocks))
    return total
