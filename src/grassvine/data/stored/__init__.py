"""Ratings in files: of which each agent reads its own part, or mapped into memory."""

from grassvine.data.stored.mapped_table import open_ratings
from grassvine.data.stored.rating_dataset import RatingDataset
from grassvine.data.stored.rating_part import RatingPart
from grassvine.data.stored.writing import store_ratings

__all__ = ["RatingDataset", "RatingPart", "open_ratings", "store_ratings"]
