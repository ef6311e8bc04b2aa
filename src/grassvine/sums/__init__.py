"""Exact methods: programs over sums of all agents, equivalent to pooled computation."""

from grassvine.sums.agent import SumAgent
from grassvine.sums.biased import BiasedCompletionProblem, BiasedFactorization, BiasedModel
from grassvine.sums.exact import Exact
from grassvine.sums.hierarchical import CoefficientPrior, EmpiricalBayes, HierarchicalProblem
from grassvine.sums.incomplete import FactorModel, IncompletePCA, IncompleteSamples
from grassvine.sums.validated import Validated

__all__ = [
    "BiasedCompletionProblem",
    "BiasedFactorization",
    "BiasedModel",
    "CoefficientPrior",
    "EmpiricalBayes",
    "Exact",
    "FactorModel",
    "HierarchicalProblem",
    "IncompletePCA",
    "IncompleteSamples",
    "SumAgent",
    "Validated",
]
