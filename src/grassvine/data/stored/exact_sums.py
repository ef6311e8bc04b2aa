"""Sums over a column in files that do not depend on the order of the rows.

Threads add up pieces of a file in any order, so the last bits of a floating-point sum would differ
between runs. Integer sums do not. Values are therefore converted to integer multiples of 2⁻⁸⁰ times
the largest one: values within a factor 2²⁷ of it stay exact, and 2⁴⁷ of them fit into 128 bits.
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from grassvine.data.stored.lazy_tables import collect

if TYPE_CHECKING:
    import polars as pl

BITS = 80
LARGEST_EXPONENT = 1000  # of the scale factor, which is a float


def exact_sum(table: "pl.LazyFrame", value: "pl.Expr", largest: float, source: str) -> Fraction:
    """Return the sum of an expression over the rows of a table.

    Parameters
    ----------
    largest : float
        Upper bound on the absolute values.
    source : str
        Source of the table, for error messages.
    """
    import polars as pl

    shift = min(BITS - math.frexp(largest)[1], LARGEST_EXPONENT)
    units = (value * math.ldexp(1.0, shift)).cast(pl.Int128)
    total = collect(table.select(units.sum()), source).item()
    return Fraction(total or 0) * Fraction(2) ** -shift
