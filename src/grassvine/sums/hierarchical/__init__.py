"""Related regressions by empirical Bayes: coefficients drawn from one normal distribution."""

from grassvine.sums.hierarchical.method import EmpiricalBayes
from grassvine.sums.hierarchical.prior import CoefficientPrior
from grassvine.sums.hierarchical.problem import HierarchicalProblem

__all__ = ["CoefficientPrior", "EmpiricalBayes", "HierarchicalProblem"]
