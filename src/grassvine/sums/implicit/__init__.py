"""Implicit feedback: what users choose, fitted by sums (factors, or regressions between items)."""

from grassvine.sums.implicit.ease import EASE
from grassvine.sums.implicit.method import ImplicitFactorization
from grassvine.sums.implicit.model import ImplicitModel
from grassvine.sums.implicit.problem import ImplicitProblem

__all__ = ["EASE", "ImplicitFactorization", "ImplicitModel", "ImplicitProblem"]
