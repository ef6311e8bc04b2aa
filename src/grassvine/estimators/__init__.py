"""Estimators with the scikit-learn API."""

from grassvine.estimators.alt_min import AltMinRegressor
from grassvine.estimators.baselines import DLMaFitCompleter, RTRMCCompleter
from grassvine.estimators.completion import MatrixCompleter
from grassvine.estimators.implicit import ImplicitRecommender
from grassvine.estimators.multitask import MultitaskRegressor
from grassvine.estimators.pca import DecentralizedPCA

__all__ = [
    "AltMinRegressor",
    "DLMaFitCompleter",
    "DecentralizedPCA",
    "ImplicitRecommender",
    "MatrixCompleter",
    "MultitaskRegressor",
    "RTRMCCompleter",
]
