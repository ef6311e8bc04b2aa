"""Exact methods: programs over sums of all agents, equivalent to pooled computation."""

from grassvine.sums.agent import SumAgent
from grassvine.sums.biased import BiasedFactorization
from grassvine.sums.exact import Exact
from grassvine.sums.validated import Validated

__all__ = ["BiasedFactorization", "Exact", "SumAgent", "Validated"]
