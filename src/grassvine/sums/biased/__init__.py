"""Ratings with biases: the problem of one agent, the shared model, its programs and the method."""

from grassvine.sums.biased.method import BiasedFactorization
from grassvine.sums.biased.problem import BiasedCompletionProblem, BiasedModel

__all__ = ["BiasedCompletionProblem", "BiasedFactorization", "BiasedModel"]
