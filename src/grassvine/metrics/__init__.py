"""Measures of recommendations against what users chose: nDCG, recall, precision, MAP, AUC."""

from grassvine.metrics.ranking import (
    auc,
    average_precision,
    coverage,
    found,
    ndcg,
    paired_difference,
    precision,
    recall,
)

__all__ = [
    "auc",
    "average_precision",
    "coverage",
    "found",
    "ndcg",
    "paired_difference",
    "precision",
    "recall",
]
