"""Estimators in the manner of scikit-learn: the only room that knows it."""

from grassvine.estimators.alt_min import AltMinRegressor
from grassvine.estimators.completion import DLMaFitCompleter, GossipCompleter, RTRMCCompleter
from grassvine.estimators.multitask import GossipMultitaskRegressor
from grassvine.estimators.pca import GossipPCA

__all__ = [
    "AltMinRegressor",
    "DLMaFitCompleter",
    "GossipCompleter",
    "GossipMultitaskRegressor",
    "GossipPCA",
    "RTRMCCompleter",
]
