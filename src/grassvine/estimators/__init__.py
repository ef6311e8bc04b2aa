"""Estimators in the manner of scikit-learn: the only room that knows it."""

from grassvine.estimators.completion import DLMaFitCompleter, GossipCompleter, RTRMCCompleter

__all__ = ["DLMaFitCompleter", "GossipCompleter", "RTRMCCompleter"]
