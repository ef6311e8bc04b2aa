"""Sums of a column that no order of its rows can change, without holding it.

Threads add up pieces of a file in whatever order they come, and floating-point sums would differ in
their last bits from one time to the next. Whole numbers do not. So a value v is counted in units
that are 2⁸⁰ times finer than the largest one: nothing is lost of values within 2²⁷ of it, and up
to 2⁴⁷ of them fit into 128 bits.
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from grassvine.data.stored.lazy_tables import collected

if TYPE_CHECKING:
    import polars as pl

BITS = 80
LARGEST_EXPONENT = 1000  # of the factor, which is a float


def exact_sum(table: "pl.LazyFrame", value: "pl.Expr", largest: float, source: str) -> Fraction:
    """Return the sum of an expression.

    Parameters
    ----------
    largest : float
        No value is larger in size.
    source : str
        What is read, for messages.
    """
    import polars as pl

    shift = min(BITS - math.frexp(largest)[1], LARGEST_EXPONENT)
    units = (value * math.ldexp(1.0, shift)).cast(pl.Int128)
    total = collected(table.select(units.sum()), source).item()
    return Fraction(total or 0) * Fraction(2) ** -shift
