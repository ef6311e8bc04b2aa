"""Ratings in files, of which each agent reads its own part."""

from grassvine.data.stored.rating_dataset import RatingDataset
from grassvine.data.stored.rating_part import RatingPart

__all__ = ["RatingDataset", "RatingPart"]
