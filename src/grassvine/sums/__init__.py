"""Exact methods: programs over sums of all agents, equivalent to pooled computation."""

from grassvine.sums.agent import SumAgent
from grassvine.sums.bayes import (
    BayesianCompletionProblem,
    BayesianFactorization,
    BayesianModel,
)
from grassvine.sums.biased import BiasedCompletionProblem, BiasedFactorization, BiasedModel
from grassvine.sums.exact import Exact
from grassvine.sums.implicit import EASE, ImplicitFactorization, ImplicitModel, ImplicitProblem
from grassvine.sums.validated import Validated

__all__ = [
    "EASE",
    "BayesianCompletionProblem",
    "BayesianFactorization",
    "BayesianModel",
    "BiasedCompletionProblem",
    "BiasedFactorization",
    "BiasedModel",
    "Exact",
    "ImplicitFactorization",
    "ImplicitModel",
    "ImplicitProblem",
    "SumAgent",
    "Validated",
]
