"""Measures of recommendations against what users chose: nDCG, recall, precision, MAP, AUC."""

from grassvine.metrics.ranking import (
    Hits,
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
    "Hits",
    "auc",
    "average_precision",
    "coverage",
    "found",
    "ndcg",
    "paired_difference",
    "precision",
    "recall",
]
