"""Ratings by variational Bayes: the shared model, the problem of one agent, the fit, the method."""

from grassvine.sums.bayes.method import BayesianFactorization
from grassvine.sums.bayes.model import BayesianModel
from grassvine.sums.bayes.problem import BayesianCompletionProblem

__all__ = ["BayesianCompletionProblem", "BayesianFactorization", "BayesianModel"]
